package report_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/operon-framework/operon/internal/prove/report"
)

var rewrite = flag.Bool("rewrite", false, "write the outputs to testdata as they are now")

// outputs contains the outputs that are compared with files in testdata, by file extension. TestJSON compares the JSON output
// with its input.
var outputs = map[string]func(io.Writer, report.Report) error{
	"txt": func(w io.Writer, r report.Report) error {
		return report.Text(w, r, report.Look{Width: 100}, report.File{What: "page", Path: "prove-report/index.html"})
	},
	"junit.xml": report.JUnit,
	"sarif":     report.SARIF,
	"html":      report.HTML,
}

// constant matches the parts of a page that are always the same. They are not stored with each page.
var constant = regexp.MustCompile(`(?s)<style>.*?</style>|<script>[^<].*?</script>|sha256-[^&']*`)

// alike contains outputs that show nothing beyond the other outputs.
var alike = map[string]bool{
	"intermediate.html": true, "clean.html": true, "intermediate.junit.xml": true, "clean.junit.xml": true,
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	for name, r := range reports(t) {
		for ending, write := range outputs {
			if alike[name+"."+ending] {
				continue
			}
			t.Run(name+"."+ending, func(t *testing.T) {
				t.Parallel()
				got := output(t, write, r)
				if ending == "html" {
					got = constant.ReplaceAll(got, nil)
				}
				compare(t, name+"."+ending, got)
			})
		}
	}
}

// The text output is correct in colors and in a narrow terminal.
func TestLooks(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]report.Look{"colour.txt": {Width: 100, Colour: true}, "narrow.txt": {Width: 48}} {
		got := output(t, func(w io.Writer, r report.Report) error { return report.Text(w, r, look) }, stale(t))
		compare(t, "stale."+name, got)
	}
}

func output(t *testing.T, write func(io.Writer, report.Report) error, r report.Report) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is\n%s\nwant\n%s\n(-rewrite accepts it)", path, got, want)
	}
}
