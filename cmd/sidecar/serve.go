package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/browser-sidecar/conformance/sidecar"
	"github.com/browser-sidecar/conformance/sidecar/config"
)

const serveText = `Start the sidecar. Its configuration is one JSON object, read from standard input to its end, or from
--config-file; so the token stands in no process listing and no environment.

Once it answers requests it prints one line on standard output, {"ready":true,"port":…,"version":"…","pid":…}, and logs
to standard error. SIGTERM, SIGINT and SIGHUP stop it, as does the configuration's stop_at.`

// maxConfig bounds the configuration's size in bytes. A storage state is the only large part of one.
const maxConfig = 64 << 20

func serve(parent context.Context, configFile string, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, release := untilSignal(parent)
	defer release()
	log := newLogger(stderr)

	text, err := readConfig(ctx, configFile, stdin)
	if ctx.Err() != nil {
		log.Info("stopping: " + context.Cause(ctx).Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	c, warnings, err := config.Parse(text)
	if err != nil {
		return fmt.Errorf("invalid configuration: %w", err)
	}
	for _, w := range warnings {
		log.Warn("configuration: " + string(w))
	}
	v := buildVersion()
	return sidecar.Run(ctx, c, sidecar.Options{Version: v, Log: log}, func(port int) error {
		line, err := json.Marshal(struct {
			Ready   bool   `json:"ready"`
			Port    int    `json:"port"`
			Version string `json:"version"`
			PID     int    `json:"pid"`
		}{true, port, v, os.Getpid()})
		if err == nil {
			_, err = stdout.Write(append(line, '\n'))
		}
		if err != nil {
			return fmt.Errorf("printing the ready line: %w", err)
		}
		return nil
	})
}

// untilSignal returns a context that the first signal ends; later ones change nothing, so that a stop is never cut
// short. A closed stdout or stderr must not kill the process either, before it has removed what it made: the signal is
// caught and the write returns an error.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	stops, pipes := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	signal.Notify(pipes, syscall.SIGPIPE)
	names := map[os.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT", syscall.SIGHUP: "SIGHUP"}
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case s := <-stops:
			cancel(errors.New("received " + names[s]))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-over // the signals stay caught: one that comes now must not change the exit code
	}
}

// readConfig reads to the end, or until ctx ends: nothing can interrupt a read of a terminal or a pipe that stays open, so
// it is left behind, for the process to end with.
func readConfig(ctx context.Context, file string, stdin io.Reader) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := readAll(file, stdin)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func readAll(file string, stdin io.Reader) (text []byte, err error) {
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		stdin = f
	}
	text, err = io.ReadAll(io.LimitReader(stdin, maxConfig+1))
	if len(text) > maxConfig {
		return nil, fmt.Errorf("it is larger than %d bytes", maxConfig)
	}
	return text, err
}
