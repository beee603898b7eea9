package prove

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/prove/plan"
)

// fileFormat is that of a file that repeats a finding. Another one cannot be read.
const fileFormat = "operon-prove/1"

// File is all that is needed to show a finding once more.
type File struct {
	// Format is that of this program.
	Format string `json:"format"`
	// Target is what is tested. Paths are absolute.
	Target Target `json:"target"`
	// Finding is the Key of what the plan shows, for the reader.
	Finding string `json:"finding"`
	// Seed is the session's.
	Seed int64 `json:"seed"`
	// Settle is as in [Options].
	Settle time.Duration `json:"settle"`
	// Plan is what is done.
	Plan plan.Plan `json:"plan"`
}

// ReadFile reads a file that [File.Write] wrote. What is unknown in it is an error.
func ReadFile(path string) (*File, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var head struct {
		Format string `json:"format"`
	}
	if err := yaml.Unmarshal(content, &head); err != nil {
		return nil, fmt.Errorf("%s is no plan file: %w", path, err)
	}
	if head.Format != fileFormat {
		return nil, fmt.Errorf("%s has the format %q, this program reads %q: run `operon prove` again and take the file that it writes", path, head.Format, fileFormat)
	}
	f := &File{}
	if err := yaml.UnmarshalStrict(content, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Write writes the file, for this user alone: its objects may be Secrets.
func (f File) Write(path string) error {
	f.Format = fileFormat
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(f); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content.Bytes(), 0o600))
}

// Absolute is the target with absolute paths, so that it means the same from every folder.
func (t Target) Absolute() (Target, error) {
	for _, path := range []*string{&t.Dir, &t.CRDs, &t.Samples, &t.Setup, &t.RBAC, &t.Steps} {
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
