package doctor

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/sarif"
)

// lintTool is the command that checks projects.
const lintTool = "operon lint"

// JSON writes the report as an object, with findings sorted by place.
func (r *Report) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// SARIF writes the report in the Static Analysis Results Interchange Format 2.1.0, for code scanning, with one result for
// each finding. Results of two runs with the same fingerprint are the same finding, even if lines moved.
func (r *Report) SARIF(w io.Writer) error {
	run := sarif.Run{Tool: r.tool, ID: strings.ReplaceAll(r.tool, " ", "-") + "/", Columns: "unicodeCodePoints"}
	for _, one := range r.rules {
		run.Rules = append(run.Rules, sarif.Rule{
			ID: one.Name, Short: one.About, Full: one.Reason, Help: one.About + " " + one.Reason + " Fix: " + one.Fix,
			Level: levels[one.Severity], Tags: []string{"kubernetes", "operator"},
		})
	}
	same := map[string]int{}
	for _, f := range r.Findings {
		key := f.Rule + "\n" + f.File + "\n" + f.Message
		same[key]++ // a fingerprint has no line: equal findings in a file are numbered
		run.Results = append(run.Results, sarif.Result{
			Rule: f.Rule, Level: levels[f.Severity], Message: resultText(&f), Key: key + string(rune(same[key])),
			Locations: []sarif.Object{{"physicalLocation": sarif.Physical(r.inRepository(f.File), sarif.Object{"startLine": f.Line, "startColumn": r.column(f.Place)})}},
		})
	}
	return run.Write(w)
}

// inRepository returns the path of a file relative to its git repository, in which code scanning looks for it. Outside of a
// repository, it is relative to the current directory, or to the project if that is elsewhere.
func (r *Report) inRepository(file string) string {
	if r.dir == "" {
		return file
	}
	base := repository(r.dir)
	if base == "" {
		current, err := os.Getwd()
		if err != nil {
			return file
		}
		base = current
	}
	relative, err := filepath.Rel(base, filepath.Join(r.dir, filepath.FromSlash(file)))
	if err != nil || !filepath.IsLocal(relative) {
		return file
	}
	return filepath.ToSlash(relative)
}

// repository returns the top directory of the git repository with a directory, or "" if there is none.
func repository(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// column returns the column of a place in code points. In Go files, places count bytes, as Go's tools do.
func (r *Report) column(at rule.Place) int {
	if filepath.Ext(at.File) != ".go" || at.Line < 1 || at.Column < 1 {
		return at.Column
	}
	content, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(at.File)))
	lines := bytes.SplitN(content, []byte("\n"), at.Line+1)
	if err != nil || len(lines) < at.Line || len(lines[at.Line-1]) < at.Column {
		return at.Column // the file was changed or removed since it was checked
	}
	return utf8.RuneCount(lines[at.Line-1][:at.Column-1]) + 1
}

// levels maps severities to SARIF levels.
var levels = map[rule.Severity]string{rule.Error: sarif.Error, rule.Warning: sarif.Warning, rule.Advice: sarif.Note}

func resultText(f *Finding) string { return f.Message + ". " + f.Reason + " Fix: " + f.Fix }
