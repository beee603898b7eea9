package doctor

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// sampleReport returns a report with one finding of each kind, two of them in one file.
func sampleReport() *Report {
	long := "a/folder/with/a/name/that/is/longer/than/a/narrow/terminal/is/wide/controller.go"
	return &Report{tool: lintTool, rules: Rules(), Rules: 46, Ignored: 2, Findings: []Finding{
		{Rule: "crd-invalid", Severity: rule.Error, Place: rule.Place{File: "a b.yaml", Line: 3, Column: 1}, Message: "Web v1: <wrong>", Reason: "It cannot be installed.", Fix: "mend it"},
		{Rule: "owner-missing", Severity: rule.Error, Place: rule.Place{File: long, Line: 7, Column: 12}, Message: "Reconcile creates a Service without an owner reference", Reason: "It stays.", Fix: "set one"},
		{Rule: "owner-missing", Severity: rule.Error, Place: rule.Place{File: long, Line: 9, Column: 12}, Message: "Reconcile creates a Service without an owner reference", Reason: "It stays.", Fix: "set one"},
		{Rule: "ignore-unused", Severity: rule.Advice, Place: rule.Place{File: long, Line: 120, Column: 2}, Message: strings.Repeat("long", 20), Reason: "It hides.", Fix: "delete it", Fixable: true},
	}}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	for name, write := range map[string]func(io.Writer) error{
		"text.txt":   func(w io.Writer) error { return r.Text(w, Look{}) },
		"narrow.txt": func(w io.Writer) error { return r.Text(w, Look{Width: 48, Colour: true}) },
		"none.txt":   func(w io.Writer) error { return (&Report{Rules: 46}).Text(w, Look{}) },
		"json.json":  r.JSON,
		"rules.txt":  func(w io.Writer) error { return List(w, Rules(), Look{}) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", "outputs", name), out.Bytes())
	}
}

// TestSARIF: results refer to the rules, and equal findings in one file have different fingerprints that do not change when
// lines move.
func TestSARIF(t *testing.T) {
	t.Parallel()
	read := func(r *Report) (prints []string) {
		var out bytes.Buffer
		if err := r.SARIF(&out); err != nil {
			t.Fatal(err)
		}
		var log struct {
			Runs []struct {
				Tool struct {
					Driver struct{ Rules []struct{ ID string } }
				}
				Results []struct {
					RuleID    string
					RuleIndex int
					Level     string
					Locations []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine int }
						}
					}
					PartialFingerprints map[string]string
				}
			}
		}
		if err := json.Unmarshal(out.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		for i, result := range log.Runs[0].Results {
			if got := log.Runs[0].Tool.Driver.Rules[result.RuleIndex].ID; got != result.RuleID || got != r.Findings[i].Rule {
				t.Errorf("result %d of rule %s points at %s", i, result.RuleID, got)
			}
			if got := result.Locations[0].PhysicalLocation; got.Region.StartLine != r.Findings[i].Line || i == 0 && got.ArtifactLocation.URI != "a%20b.yaml" {
				t.Errorf("result %d is at %+v", i, got)
			}
			prints = append(prints, result.PartialFingerprints["operonFinding/v1"])
		}
		return prints
	}
	r := sampleReport()
	before := read(r)
	r.Findings[1].Line, r.Findings[2].Line = 70, 90
	after := read(r)
	if strings.Join(before, " ") != strings.Join(after, " ") || before[1] == before[2] {
		t.Errorf("fingerprints were %q and are %q", before, after)
	}
}

// Code scanning looks for files in the repository.
func TestPathsOfSARIFAreInTheRepository(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "operators", "web")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	check := func(where, want string) {
		t.Helper()
		var out bytes.Buffer
		r := &Report{dir: dir, tool: lintTool, rules: Rules(), Findings: []Finding{{Rule: "crd-invalid", Place: rule.Place{File: "a.yaml", Line: 1, Column: 1}}}}
		if err := r.SARIF(&out); err != nil || !strings.Contains(out.String(), `"uri": "`+want+`"`) {
			t.Errorf("%s: %v, not %s in %s", where, err, want, &out)
		}
	}
	check("elsewhere", "a.yaml")
	t.Chdir(filepath.Join(top, "operators"))
	check("in the current directory", "web/a.yaml")
	if err := os.Mkdir(filepath.Join(top, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	check("in a repository", "operators/web/a.yaml")
}

// Places in Go files count bytes, and SARIF counts code points.
func TestColumnsOfSARIFCountCodePoints(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.go", "a.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package a\n/* é😀 */ var A = 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := &Report{dir: dir}
	for at, want := range map[rule.Place]int{
		{File: "a.go", Line: 2, Column: 14}: 10, {File: "a.yaml", Line: 2, Column: 14}: 14, {File: "a.go", Line: 1, Column: 9}: 9,
		{File: "a.go", Line: 2, Column: 99}: 99, {File: "a.go", Line: 9, Column: 3}: 3, {File: "gone.go", Line: 1, Column: 3}: 3, {File: "a.go"}: 0,
	} {
		if got := r.column(at); got != want {
			t.Errorf("%v: column %d, want %d", at, got, want)
		}
	}
}

func TestFixDeletesWhatIgnoresNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	const before = "package a\n\n//operon:ignore reconcile-sleep it is short\nvar A = 1\n\nvar B = 2 //operon:ignore reconcile-sleep it is short\n"
	if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	comments := ignores{}
	comments.read("a.go", before)
	r := &Report{dir: dir, Findings: comments.findings(Options{})}
	if len(r.Findings) != 2 {
		t.Fatalf("found %+v", r.Findings)
	}
	fixed, err := r.Fix(t.Context())
	if err != nil || len(fixed) != 1 || len(r.Findings) != 1 || r.Findings[0].Line != 6 {
		t.Errorf("fixed %+v, %v; left %+v", fixed, err, r.Findings)
	}
	after, err := os.ReadFile(file)
	if want := strings.Replace(before, "//operon:ignore reconcile-sleep it is short\nvar A", "var A", 1); err != nil || string(after) != want {
		t.Errorf("the file holds %q, %v", after, err)
	}
	if fixed, err := r.Fix(t.Context()); err != nil || len(fixed) != 0 {
		t.Errorf("a second time it fixed %+v, %v", fixed, err)
	}
}

func TestIgnoresByWhereTheyStand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, content string
		lines         []int
	}{
		"at the line":        {"a.go", "package a\nvar A = 1 //operon:ignore number-bounds why\nvar B = 1\n", []int{2}},
		"above it":           {"a.go", "package a\n\n//operon:ignore number-bounds why\nvar A = 1\nvar B = 1\n", []int{3, 4}},
		"among markers":      {"a.go", "package a\n// +a\n// +b\n//operon:ignore number-bounds why\n\nvar A = 1\n", []int{2, 3, 4, 5}},
		"yaml at the line":   {"a.yaml", "a: 1\nb: 2 # operon:ignore number-bounds why\n", []int{2}},
		"above an object":    {"a.yaml", "# operon:ignore number-bounds why\n---\na: 1\nb: 2\n", []int{1, 2, 3}},
		"without a reason":   {"a.go", "package a\n\n//operon:ignore number-bounds\nvar A = 1\n", nil},
		"of another rule":    {"a.go", "package a\n\n//operon:ignore word-enum why\nvar A = 1\n", nil},
		"in a text":          {"a.go", "package a\nvar A = \"//operon:ignore number-bounds why\"\n", nil},
		"in another comment": {"a.go", "package a\n// write //operon:ignore number-bounds why\nvar A = 1\n", nil},
	} {
		comments := ignores{}
		comments.read(test.file, test.content)
		var got []int
		for line := 1; line < 10; line++ {
			if comments.ignore(&Finding{Rule: "number-bounds", Place: rule.Place{File: test.file, Line: line}}) {
				got = append(got, line)
			}
		}
		if len(got) != len(test.lines) || len(got) > 0 && (got[0] != test.lines[0] || got[len(got)-1] != test.lines[len(got)-1]) {
			t.Errorf("%s: lines %v are ignored, want %v", name, got, test.lines)
		}
	}
}
