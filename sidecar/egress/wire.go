package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"os"
	"strconv"
	"syscall"
	"time"
)

const bufferSize = 16 << 10

// errBodyBroken says that a body's sender broke it off or framed it wrongly.
var errBodyBroken = errors.New("the body is malformed or broke off")

// A wire is a connection with its buffers.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
}

func newWire(conn net.Conn) *wire {
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, bufferSize), out: bufio.NewWriterSize(conn, bufferSize)}
}

// closeWrite ends the sending direction and leaves the other one open, where the connection can do that.
func (w *wire) closeWrite() error {
	if half, ok := w.conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return w.conn.Close()
}

// idle tells whether an unused connection is still open and has sent nothing. It reads nothing and doesn't wait.
func (w *wire) idle() bool {
	raw, ok := w.conn.(syscall.Conn)
	if !ok || w.in.Buffered() > 0 {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = control.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		open = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && open
}

// relayBody copies a body from src, where it is framed as from says, to dst, framed as to says. Bytes go on as they
// arrive. Whatever was in dst's buffer goes first.
func relayBody(dst *wire, to framing, src *wire, from framing) error {
	switch from.kind {
	case sized:
		return relaySized(dst, src, from.length)
	case chunked:
		if err := relayStream(dst, to, httputil.NewChunkedReader(src.in)); err != nil {
			return err
		}
		if err := discardTrailer(src.in); err != nil {
			return err
		}
	case untilClose:
		if err := relayStream(dst, to, src.in); err != nil {
			return err
		}
	case empty:
	}
	if to.kind == chunked {
		_, _ = dst.out.WriteString("0\r\n\r\n")
	}
	return dst.out.Flush()
}

// relaySized copies length bytes. What isn't buffered yet goes from socket to socket, so that the kernel can splice it.
func relaySized(dst, src *wire, length int64) error {
	ready, _ := src.in.Peek(int(min(length, int64(src.in.Buffered()))))
	_, _ = dst.out.Write(ready)
	_, _ = src.in.Discard(len(ready))
	if err := dst.out.Flush(); err != nil {
		return err
	}
	rest := &io.LimitedReader{R: src.conn, N: length - int64(len(ready))}
	if rest.N == 0 {
		return nil
	}
	if _, err := io.Copy(dst.conn, rest); err != nil {
		return err
	}
	if rest.N > 0 {
		return errBodyBroken
	}
	return nil
}

// relayStream copies body to its end and flushes before the first read, which may have to wait, and after each.
func relayStream(dst *wire, to framing, body io.Reader) error {
	if err := dst.out.Flush(); err != nil {
		return err
	}
	buffer := make([]byte, 2*bufferSize)
	for {
		n, readErr := body.Read(buffer)
		if n > 0 {
			if to.kind == chunked {
				_, _ = dst.out.WriteString(strconv.FormatInt(int64(n), 16) + "\r\n")
			}
			_, _ = dst.out.Write(buffer[:n])
			if to.kind == chunked {
				_, _ = dst.out.WriteString("\r\n")
			}
		}
		if err := dst.out.Flush(); err != nil {
			return err
		}
		if errors.Is(readErr, io.EOF) {
			return nil
		}
		if readErr != nil {
			return fmt.Errorf("%w: %w", errBodyBroken, readErr)
		}
	}
}

// discardTrailer reads what follows a last chunk (RFC 9112 §7.1.2). A trailer isn't passed on.
func discardTrailer(in *bufio.Reader) error {
	for left := maxRequestHead; left > 0; {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("%w: %w", errBodyBroken, err)
		}
		if string(line) == "\r\n" || string(line) == "\n" {
			return nil
		}
		left -= len(line)
	}
	return fmt.Errorf("%w: its trailer is too large", errBodyBroken)
}

// pump copies src to dst until src ends, and then ends dst's sending direction. What dst still sends, the opposite pump
// may wait for as long as no gap exceeds patience: a peer that has gone for good looks like one that has only finished.
func pump(dst, src *wire, patience time.Duration) {
	err := splice(dst, src, patience)
	if err == nil {
		err = dst.closeWrite()
	}
	if err != nil {
		_ = dst.conn.Close()
		_ = src.conn.Close()
		return
	}
	_ = dst.conn.SetReadDeadline(time.Now().Add(patience))
}

func splice(dst, src *wire, patience time.Duration) error {
	early, _ := src.in.Peek(src.in.Buffered())
	if _, err := dst.conn.Write(early); err != nil {
		return err
	}
	for {
		n, err := io.Copy(dst.conn, src.conn)
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if err := src.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
	}
}
