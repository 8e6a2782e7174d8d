package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

const (
	maxUnpacked = 4 << 30 // bytes; a Chromium has about 0.5 GiB
	maxEntries  = 50_000
)

// unpack unpacks file, a zip or tar.gz archive or an executable alone, into dir, which it makes. No entry can leave dir:
// an [os.Root] follows no path out, and links are refused.
func unpack(ctx context.Context, file, dir string) (err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	begin := make([]byte, 4)
	n, _ := in.ReadAt(begin, 0)
	u := &unpacker{ctx: ctx, root: root}
	switch begin = begin[:n]; {
	case bytes.HasPrefix(begin, []byte("PK\x03\x04")):
		err = u.zip(in, info.Size())
	case bytes.HasPrefix(begin, []byte("\x1f\x8b")):
		err = u.tar(in)
	case bytes.HasPrefix(begin, []byte("\x7fELF")), bytes.HasPrefix(begin, []byte("#!")):
		err = u.add("chrome", 0o755, in)
	default:
		return errors.New("it is neither a zip or tar.gz archive nor an executable")
	}
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	return nil
}

// unpacker writes entries below root, within bounds.
type unpacker struct {
	ctx     context.Context
	root    *os.Root
	entries int
	bytes   int64
}

func (u *unpacker) zip(in io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(in, size)
	if err != nil {
		return err
	}
	for _, f := range archive.File {
		content, err := f.Open()
		if err != nil {
			return fmt.Errorf("%q: %w", f.Name, err)
		}
		err = u.add(f.Name, f.Mode(), content)
		if err = errors.Join(err, content.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) tar(in io.Reader) error {
	inflated, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	archive := tar.NewReader(inflated)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := u.add(h.Name, h.FileInfo().Mode(), archive); err != nil {
			return err
		}
	}
}

// add writes one entry. Of its mode only the permission to execute counts.
func (u *unpacker) add(name string, mode fs.FileMode, content io.Reader) error {
	if u.entries++; u.entries > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	if err := u.ctx.Err(); err != nil {
		return context.Cause(u.ctx)
	}
	clean := path.Clean(name)
	if mode.IsDir() {
		return u.root.MkdirAll(clean, 0o755)
	}
	if !mode.IsRegular() {
		return fmt.Errorf("%q is neither a file nor a folder", name)
	}
	if err := u.root.MkdirAll(path.Dir(clean), 0o755); err != nil {
		return err
	}
	out, err := u.root.OpenFile(clean, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|mode.Perm()&0o111)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(content, maxUnpacked-u.bytes+1))
	if u.bytes += n; err == nil && u.bytes > maxUnpacked {
		err = fmt.Errorf("it unpacks to more than %d bytes", int64(maxUnpacked))
	}
	return errors.Join(err, out.Close())
}
