package prove

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/prove/testplan"
)

// fileFormat is the format of a file that repeats a finding. Files of other formats cannot be read.
const fileFormat = "operon-prove/1"

// File is a plan file: all that is needed to reproduce a finding.
type File struct {
	// Format is the file format, which must be that of this program.
	Format string `json:"format"`
	// Target describes what is tested. Paths are absolute.
	Target Target `json:"target"`
	// Finding is the Key of the finding that the plan shows, for the reader.
	Finding string `json:"finding"`
	// Seed is the seed of the session.
	Seed int64 `json:"seed"`
	// Settle is as in [Options].
	Settle time.Duration `json:"settle"`
	// Pause is as in [report.Report].
	Pause time.Duration `json:"pause,omitempty"`
	// Plan is the plan to run.
	Plan testplan.Plan `json:"plan"`
}

// ReadFile reads a file that File.Write wrote. An error states what is wrong with it and, if known, in which line.
//
// Guarantees: a file that is returned without an error can be run: it has the format of this program, no unknown
// fields, a valid workload, and faults that are possible.
func ReadFile(path string) (*File, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("plan file %s does not exist; operon prove writes one for each finding and prints its path", path)
	}
	if err != nil {
		return nil, err
	}
	f, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// parse reads the content of a file, in JSON or YAML.
func parse(content []byte) (*File, error) {
	var head struct {
		Format string `json:"format"`
	}
	if err := yaml.Unmarshal(content, &head); err != nil {
		return nil, fmt.Errorf("not a plan file: %w", located(err, content))
	}
	switch head.Format {
	case fileFormat:
	case "":
		return nil, fmt.Errorf("not a plan file: want format: %s", fileFormat)
	default:
		return nil, fmt.Errorf("format %q is not supported, only %q: run `operon prove` again and use the file that it writes", head.Format, fileFormat)
	}
	f := &File{}
	if err := yaml.UnmarshalStrict(content, f); err != nil {
		return nil, fmt.Errorf("invalid plan: %w", located(err, content))
	}
	if err := f.Plan.Validate(); err != nil {
		return nil, fmt.Errorf("invalid plan: %s", oneLine(err))
	}
	return f, nil
}

var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// located returns a parser's error with the line in which it can be found, and without the parser's own names.
func located(err error, content []byte) error {
	if found := unknownField.FindStringSubmatch(err.Error()); found != nil {
		field := found[1][strings.LastIndex(found[1], ".")+1:]
		for i, line := range strings.Split(string(content), "\n") {
			if strings.HasPrefix(strings.TrimLeft(line, ` -"{`), field) {
				return fmt.Errorf("line %d: unknown field %q", i+1, found[1])
			}
		}
		return fmt.Errorf("unknown field %q", found[1])
	}
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(oneLine(err), "error converting YAML to JSON: "), "error unmarshaling JSON: "))
}

var lineBreaks = regexp.MustCompile(`:?\n\s*`)

// oneLine returns the text of an error in one line.
func oneLine(err error) string { return lineBreaks.ReplaceAllString(err.Error(), "; ") }

// Write writes the file so that only the current user can read it, because its objects may be Secrets.
func (f File) Write(path string) error {
	f.Format = fileFormat
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(f); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = file.Chmod(0o600) // it may have existed
	}
	if err == nil {
		_, err = file.Write(content.Bytes())
	}
	return errors.Join(err, file.Close())
}

// Absolute returns the target with absolute paths, so that it means the same in every working directory.
func (t Target) Absolute() (Target, error) {
	for _, path := range []*string{&t.Dir, &t.CRDs, &t.Samples, &t.Setup, &t.RBAC, &t.Steps, &t.Accept} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return t, err
		}
		*path = absolute
	}
	return t, nil
}
