package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

const installText = `Install a Chromium for the sidecar below the folder that PLAYWRIGHT_BROWSERS_PATH names.

--from takes an http(s) URL or a path: of a zip or tar.gz archive that holds chrome or chrome-linux*/chrome, or of the
executable itself. It is used only when its SHA-256 is the one that --sha256 gives. Without --from, the command says
where Chromium is installed already, and fails where it is nowhere.`

// browsersVariable names the folder that browsers are installed in.
const browsersVariable = "PLAYWRIGHT_BROWSERS_PATH"

const (
	maxDownload  = 2 << 30
	downloadTime = 20 * time.Minute
)

func installCommand(stdout io.Writer) *cobra.Command {
	var from, sum string
	cmd := &cobra.Command{
		Use: "install-browser", Short: "Install the Chromium that a start uses", Long: installText, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" && sum == "" {
				return alreadyInstalled(stdout)
			}
			want, err := hex.DecodeString(sum)
			if from == "" || err != nil || len(want) != sha256.Size {
				return usageError{errors.New("--from and --sha256 go together; --sha256 takes 64 hexadecimal digits")}
			}
			ctx, release := untilSignal(cmd.Context())
			defer release()
			ctx, cancel := context.WithTimeout(ctx, downloadTime)
			defer cancel()
			return install(ctx, from, want, stdout)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "URL or path of the archive or executable")
	cmd.Flags().StringVar(&sum, "sha256", "", "its checksum")
	return cmd
}

func alreadyInstalled(stdout io.Writer) error {
	path, found := browser.Find()
	if !found {
		return errors.New("no Chromium is installed, and none comes with this version: install your system's package, or give --from and --sha256")
	}
	_, err := fmt.Fprintln(stdout, "Chromium is installed already: "+path)
	return err
}

// install puts the browser into a folder that carries its checksum's beginning, so that the same one is never fetched
// twice. It appears there whole or not at all.
func install(ctx context.Context, from string, sum []byte, stdout io.Writer) error {
	folder := os.Getenv(browsersVariable)
	if folder == "" {
		return fmt.Errorf("%s is not set: it names the folder to install into", browsersVariable)
	}
	final := filepath.Join(folder, "chromium-"+hex.EncodeToString(sum)[:16])
	if path, ok := chromeIn(final); ok {
		_, err := fmt.Fprintln(stdout, "Chromium is installed already: "+path)
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("installing Chromium: %w", err)
	}
	work, err := os.MkdirTemp(folder, ".installing-")
	if err != nil {
		return fmt.Errorf("installing Chromium: %w", err)
	}
	err = installIn(ctx, work, final, from, sum)
	if err = errors.Join(err, os.RemoveAll(work)); err != nil {
		return fmt.Errorf("installing Chromium: %w", err)
	}
	path, _ := chromeIn(final)
	text := "Chromium is installed: " + path
	if used, _ := browser.Find(); used != path {
		text += fmt.Sprintf("\nA start uses %s, which comes first; %s=%s changes that", used, browser.ExecutableVariable, path)
	}
	_, err = fmt.Fprintln(stdout, text)
	return err
}

func installIn(ctx context.Context, work, final, from string, sum []byte) error {
	file := filepath.Join(work, "download")
	got, err := fetch(ctx, from, file)
	if err != nil {
		return err
	}
	if hex.EncodeToString(got) != hex.EncodeToString(sum) {
		return fmt.Errorf("the checksum is %x, want %x", got, sum)
	}
	tree := filepath.Join(work, "tree")
	if err := unpack(ctx, file, tree); err != nil {
		return err
	}
	if _, ok := chromeIn(tree); !ok {
		return errors.New("it holds no executable named chrome or chrome-linux*/chrome")
	}
	return os.Rename(tree, final)
}

// chromeIn looks for the executable where [browser.Find] looks for it.
func chromeIn(dir string) (string, bool) {
	for _, pattern := range []string{"chrome-linux*/chrome", "chrome"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
				return path, true
			}
		}
	}
	return "", false
}

// fetch copies from, a URL or a path, to file and returns its SHA-256.
func fetch(ctx context.Context, from, file string) (sum []byte, err error) {
	in, err := open(ctx, from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, hash), io.LimitReader(in, maxDownload+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, fmt.Errorf("reading %s: %w", from, err)
	}
	if n > maxDownload {
		return nil, fmt.Errorf("%s is larger than %d bytes", from, maxDownload)
	}
	return hash.Sum(nil), nil
}

func open(ctx context.Context, from string) (io.ReadCloser, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		return os.Open(from)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s answers %s", from, res.Status), res.Body.Close())
	}
	return res.Body, nil
}
