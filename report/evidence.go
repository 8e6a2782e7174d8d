package report

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
)

const (
	// evidenceDir is where evidence lies, beside the report.
	evidenceDir = "evidence"
	// maxEvidence bounds one file; what is longer is cut, and says so.
	maxEvidence = 32 << 20
	// maxName bounds one segment of a path, with room for a number.
	maxName = 100
)

// EvidenceFile is one captured file with its digest.
type EvidenceFile struct {
	// Path is slash-separated and relative to the report's directory.
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Evidence keeps what was seen while a clause was judged, as files beside the report. Secrets are taken out as it is
// captured. Its methods may be used at once.
type Evidence struct {
	redactor *Redactor

	mu    sync.Mutex // guards files and the choice of names
	root  *os.Root
	files []EvidenceFile
}

// NewEvidence keeps evidence under dir, the report's own directory, which is made where it is missing.
func NewEvidence(dir string, redactor *Redactor) (*Evidence, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the report's directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the report's directory: %w", err)
	}
	return &Evidence{redactor: redactor, root: root}, nil
}

// Save writes data for a clause and returns its path relative to the report's directory, slash-separated. Odd characters
// of a name become '_', and a name that is taken gets a number. Over 32 MiB the rest is cut off, and the file says so.
func (e *Evidence) Save(clauseID, name string, data []byte) (string, error) {
	clean := e.redactor.Bytes(data)
	if len(clean) > maxEvidence {
		note := fmt.Sprintf("\n[cut here: %d bytes in all]\n", len(clean))
		clean = append(clean[:maxEvidence:maxEvidence], note...)
	}
	folder := path.Join(evidenceDir, safeName(clauseID))
	name = safeName(e.redactor.String(name))

	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.root.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("saving evidence %s for %s: %w", name, clauseID, err)
	}
	file, at, err := e.create(folder, name)
	if err != nil {
		return "", fmt.Errorf("saving evidence %s for %s: %w", name, clauseID, err)
	}
	_, err = file.Write(clean)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("saving evidence %s for %s: %w", name, clauseID, err)
	}
	digest := sha256.Sum256(clean)
	e.files = append(e.files, EvidenceFile{Path: at, Bytes: len(clean), SHA256: hex.EncodeToString(digest[:])})
	return at, nil
}

// create opens a new file; it never writes over another one.
func (e *Evidence) create(folder, name string) (*os.File, string, error) {
	extension := path.Ext(name)
	for n := 1; ; n++ {
		at := path.Join(folder, name)
		if n > 1 {
			at = path.Join(folder, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, extension), n, extension))
		}
		file, err := e.root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return file, at, err
		}
	}
}

// Files lists what was saved, in order, for [Run.Evidence].
func (e *Evidence) Files() []EvidenceFile {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]EvidenceFile{}, e.files...)
}

// Close ends the use of the directory; the files stay.
func (e *Evidence) Close() error {
	if err := e.root.Close(); err != nil {
		return fmt.Errorf("closing the report's directory: %w", err)
	}
	return nil
}

// safeName makes one path segment of letters, digits, dots, hyphens and underscores that starts with no dot.
func safeName(name string) string {
	safe := []byte(name)
	for i, c := range safe {
		if !isAlphanumeric(c) && c != '.' && c != '-' && c != '_' {
			safe[i] = '_'
		}
	}
	if len(safe) > maxName {
		extension := path.Ext(string(safe))
		if len(extension) > maxName/4 {
			extension = ""
		}
		safe = append(safe[:maxName-len(extension):maxName], extension...)
	}
	if len(safe) == 0 || safe[0] == '.' {
		safe = append([]byte{'_'}, safe...)
	}
	return string(safe)
}
