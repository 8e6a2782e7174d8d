package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
	"github.com/browser-sidecar/conformance/target"
)

func directories(l *lab.Lab) {
	// "The profile, upload and output directories are made under workdir … They are open to nobody but the sidecar's user
	// (mode 0700), and after a stop they are gone."
	It("keeps its directories private and removes them", engine.Clause("cli.dirs-removed"), func(ctx SpecContext) {
		s := attack.Start(ctx, l, nil)
		entries, err := s.Entries()
		engine.Harness(err)
		Expect(entries).NotTo(BeEmpty(), "the directories under workdir while the sidecar runs")
		Expect(open(s.Dir)).To(BeEmpty(), "what others may open under workdir while the sidecar runs, with its mode")
		if profile := s.ProfileDir(); profile != "" {
			Expect(profile).To(HavePrefix(s.Dir+"/"), "Chromium's profile directory")
		}
		session := attack.Connect(ctx, s)
		Expect(session.Navigate(ctx, l.AppURL("/pages/index.html"))).To(Succeed(), "opening the app")
		Expect(open(s.Dir)).To(BeEmpty(), "what others may open under workdir when the sidecar has worked, with its mode")
		exit, err := s.Stop(ctx, syscall.SIGTERM)
		Expect(err).NotTo(HaveOccurred(), "stopping the sidecar")
		Expect(exit.Code).To(Equal(0), "the exit: %s", exit)
		Expect(s.Entries()).To(BeEmpty(), "what is left under workdir after the stop")
		Expect(s.Dir).To(BeADirectory(), "the workdir itself, which the configuration named")
	})

	// "… or under a temporary directory when it is unset."
	It("removes the temporary directory that it makes without a workdir", engine.Clause("cli.dirs-removed"), func(ctx SpecContext) {
		c, err := l.BaseConfig()
		engine.Harness(err)
		temp, _ := c["workdir"].(string)
		s, err := l.StartWith(ctx, c.With("workdir", nil), target.Options{Env: []string{"TMPDIR=" + temp}})
		Expect(err).NotTo(HaveOccurred(), "starting without a workdir")
		s.Dir = temp
		entries, err := s.Entries()
		engine.Harness(err)
		if len(entries) == 0 {
			engine.CouldNotRun("the target makes its directories somewhere that TMPDIR doesn't name")
		}
		Expect(open(temp)).To(BeEmpty(), "what others may open in the temporary directory while the sidecar runs, with its mode")
		if profile := s.ProfileDir(); profile != "" {
			Expect(profile).To(HavePrefix(temp+"/"), "Chromium's profile directory")
		}
		exit, err := s.Stop(ctx, syscall.SIGTERM)
		Expect(err).NotTo(HaveOccurred(), "stopping the sidecar")
		Expect(exit.Code).To(Equal(0), "the exit: %s", exit)
		Expect(s.Entries()).To(Or(BeEmpty(), HaveEach(Satisfy(chromiums))), "what is left in the temporary directory after the stop")
	})
}

// open lists what another user may read below a directory that is open itself, with its mode. How directories are nested
// is free: one that is closed (mode 0700) closes all that is below it, and one that only holds closed ones needs no mode.
func open(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", filepath.Base(dir), err)
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, os.ErrNotExist) || chromiums(path):
		case err != nil:
			return nil, fmt.Errorf("reading the mode of %s: %w", e.Name(), err)
		case info.IsDir() && info.Mode().Perm() == 0o700 || !info.IsDir() && info.Mode().Perm()&0o077 == 0:
		case info.IsDir():
			below, err := os.ReadDir(path)
			if err != nil {
				return nil, fmt.Errorf("listing %s: %w", e.Name(), err)
			}
			if len(below) == 0 || slices.ContainsFunc(below, func(d os.DirEntry) bool { return !d.IsDir() }) {
				found = append(found, info.Mode().String()+" "+e.Name())
				continue
			}
			deeper, err := open(path)
			if err != nil {
				return nil, err
			}
			found = append(found, deeper...)
		default:
			found = append(found, info.Mode().String()+" "+e.Name())
		}
	}
	return found, nil
}

// chromiums tells what Chromium itself puts into a temporary directory: no directory of the sidecar's.
func chromiums(path string) bool {
	return strings.Contains(filepath.Base(path), "org.chromium.Chromium.")
}
