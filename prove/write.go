package prove

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/operon-framework/operon/internal/prove/report"
)

// Output is the default directory for the reports of a session.
const Output = "operon-prove"

// outputs contains the formats of a report.
var outputs = []struct {
	what, name string
	write      func(io.Writer, report.Report) error
}{
	{"page", "report.html", report.HTML},
	{"JSON", "report.json", report.JSON},
	{"JUnit", "junit.xml", report.JUnit},
	{"SARIF", "report.sarif", report.SARIF},
}

// Write writes a report in all formats to a directory, and a plan file for each finding that can be repeated,
// whose path it sets in the report. It replaces what an earlier session left there. It returns the files that are
// meant for people to open.
func Write(folder string, r *report.Report, target Target, options Options) ([]report.File, error) {
	if err := prepare(folder); err != nil {
		return nil, err
	}
	target, err := target.Absolute()
	if err != nil {
		return nil, err
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Plan == nil {
			continue
		}
		f.File = filepath.Join(folder, "plans", fmt.Sprintf("%02d-%s.json", i+1, slug(string(f.Property)+" "+f.Plan.Name)))
		file := File{Target: target, Finding: f.Key(), Seed: r.Seed, Settle: options.Settle, Pause: r.Pause, Plan: *f.Plan}
		if err := file.Write(f.File); err != nil {
			return nil, err
		}
	}
	var files []report.File
	for _, output := range outputs {
		path := filepath.Join(folder, output.name)
		if err := writeFile(path, r, output.write); err != nil {
			return files, err
		}
		files = append(files, report.File{What: output.what, Path: path})
	}
	return files, nil
}

// prepare creates the directory, ignored by git, and removes the plan files of an earlier session.
func prepare(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, ".gitignore"), []byte("*\n"), 0o644),
		os.RemoveAll(filepath.Join(folder, "plans")),
	)
}

// writeFile writes a report that only the current user can read: it contains the operator's log and flags.
func writeFile(path string, r *report.Report, write func(io.Writer, report.Report) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(0o600), write(file, *r), file.Close())
}

// slug returns a text in a form that can be part of a file name.
func slug(text string) string {
	const longest = 60
	var name strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			name.WriteRune(r)
		case name.Len() > 0 && !strings.HasSuffix(name.String(), "-"):
			name.WriteByte('-')
		}
	}
	return strings.Trim(name.String()[:min(name.Len(), longest)], "-")
}
