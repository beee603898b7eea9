package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/report"
)

// The JUnit output is well-formed, and its counts match its cases.
func TestJUnit(t *testing.T) {
	t.Parallel()
	type suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Class   string    `xml:"classname,attr"`
			Failure *struct{} `xml:"failure"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	}
	for name, r := range reports(t) {
		var all struct {
			Tests    int     `xml:"tests,attr"`
			Failures int     `xml:"failures,attr"`
			Suites   []suite `xml:"testsuite"`
		}
		if err := xml.Unmarshal(output(t, report.JUnit, r), &all); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var sum suite
		for _, s := range all.Suites {
			var counted suite
			for _, c := range s.Cases {
				counted.Tests++
				if c.Failure != nil {
					counted.Failures++
				}
				if c.Skipped != nil {
					counted.Skipped++
				}
				if c.Name == "" || c.Class == "" {
					t.Errorf("%s: a case has the name %q and the class %q", name, c.Name, c.Class)
				}
			}
			if counted.Tests != s.Tests || counted.Failures != s.Failures || counted.Skipped != s.Skipped {
				t.Errorf("%s: a suite says %d, %d, %d and has %+v", name, s.Tests, s.Failures, s.Skipped, counted)
			}
			sum.Tests, sum.Failures = sum.Tests+s.Tests, sum.Failures+s.Failures
		}
		if sum.Tests != all.Tests || sum.Failures != all.Failures || all.Tests < len(r.Runs) {
			t.Errorf("%s: all say %d, %d and have %+v of %d runs", name, all.Tests, all.Failures, sum, len(r.Runs))
		}
	}
}

// The SARIF output meets the requirements of code scanning. The files in testdata were validated against the
// schema of the format when they were created.
func TestSARIF(t *testing.T) {
	t.Parallel()
	for name, r := range reports(t) {
		var log struct {
			Version string
			Runs    []struct {
				Tool struct {
					Driver struct{ Rules []struct{ ID string } }
				}
				Results []struct {
					RuleID, Level       string
					RuleIndex           int
					Message             struct{ Text string }
					PartialFingerprints map[string]string
					Locations           []struct {
						PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
					}
				}
			}
		}
		if err := json.Unmarshal(output(t, report.SARIF, r), &log); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		run := log.Runs[0]
		if log.Version != "2.1.0" || len(run.Results) != len(r.Findings) {
			t.Fatalf("%s: version %s with %d results", name, log.Version, len(run.Results))
		}
		for i, result := range run.Results {
			if run.Tool.Driver.Rules[result.RuleIndex].ID != result.RuleID || result.Message.Text == "" || len(result.PartialFingerprints) != 1 {
				t.Errorf("%s: result %d is %+v", name, i, result)
			}
			if !slices.Contains([]string{"error", "warning", "note"}, result.Level) {
				t.Errorf("%s: level %q", name, result.Level)
			}
			if r.Findings[i].File != "" && result.Locations[0].PhysicalLocation.ArtifactLocation.URI == "" {
				t.Errorf("%s: result %d has no place", name, i)
			}
		}
	}
}

// The page is well-formed, loads nothing, and contains no element and no attribute that
// comes from the data.
func TestHTML(t *testing.T) {
	t.Parallel()
	for name, r := range reports(t) {
		page := output(t, report.HTML, r)
		balanced(t, name, page)
		if at := bytes.IndexFunc(page, steers); at >= 0 {
			t.Errorf("%s: there is a control character: %q", name, page[max(0, at-40):at+4])
		}
		root, err := html.Parse(bytes.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for node := range root.Descendants() {
			if node.Type != html.ElementNode {
				continue
			}
			if slices.Contains([]string{"img", "link", "iframe", "object", "embed", "base", "image", "use"}, node.Data) {
				t.Errorf("%s: there is a <%s>", name, node.Data)
			}
			for _, attribute := range node.Attr {
				innocent(t, name, node.Data, attribute)
				if attribute.Key == "id" && ids[attribute.Val] {
					t.Errorf("%s: two elements have the id %s", name, attribute.Val)
				}
				ids[attribute.Val] = ids[attribute.Val] || attribute.Key == "id"
			}
		}
		_, script, _ := bytes.Cut(page, []byte("<script>"))
		script, rest, _ := bytes.Cut(script, []byte("</script>"))
		if sum := sha256.Sum256(script); !strings.Contains(html.UnescapeString(string(page)), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("%s: the policy does not let the script run", name)
		}
		if bytes.Contains(rest, []byte("<script")) {
			t.Errorf("%s: there is a second script", name)
		}
	}
}

// steers reports whether a character moves the cursor or changes the text direction.
func steers(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

func innocent(t *testing.T, name, element string, attribute html.Attribute) {
	t.Helper()
	switch key := attribute.Key; {
	case strings.HasPrefix(key, "on"), key == "src", key == "srcset", key == "action", key == "xlink:href":
		t.Errorf("%s: <%s> has %s=%q", name, element, key, attribute.Val)
	case key == "href" && !strings.HasPrefix(attribute.Val, "#"):
		t.Errorf("%s: a link leads to %q", name, attribute.Val)
	case key == "style" && strings.ContainsAny(attribute.Val, "(\\"):
		t.Errorf("%s: the style %q", name, attribute.Val)
	}
}

// balanced checks that each opened element is closed.
func balanced(t *testing.T, name string, page []byte) {
	t.Helper()
	void := []string{"meta", "input", "br", "hr"}
	var open []string
	tokens := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			if tokens.Err() != io.EOF || len(open) > 0 {
				t.Errorf("%s: %v, with %q open", name, tokens.Err(), open)
			}
			return
		case html.StartTagToken:
			if tag, _ := tokens.TagName(); !slices.Contains(void, string(tag)) {
				open = append(open, string(tag))
			}
		case html.EndTagToken:
			tag, _ := tokens.TagName()
			if len(open) == 0 || open[len(open)-1] != string(tag) {
				t.Fatalf("%s: </%s> where %q are open", name, tag, open)
			}
			open = open[:len(open)-1]
		}
	}
}

// A page with 200 plans and 5 findings, each with as much data as a report can contain, is smaller
// than 1 MB.
func TestPageIsSmall(t *testing.T) {
	t.Parallel()
	r, busy := withRuns(base(), 200), hotLoop(t)
	for i := range 5 {
		f := busy.Findings[0]
		f.Message = fmt.Sprintf("finding %d", i)
		f.Diff = slices.Repeat([]finding.Difference{{Of: "ConfigMap/large", Want: strings.Repeat(`"x", `, 4000), Got: "{}"}}, 30)
		line := busy.Timelines[0]
		line.Key, line.Reference = f.Key(), &line.Failing
		r.Findings, r.Timelines = append(r.Findings, f), append(r.Timelines, line)
		shows(&r, 20+i, report.Failed, f)
	}
	if size := len(output(t, report.HTML, r)); size > 1<<20 {
		t.Errorf("the page has %d bytes", size)
	}
}

// No line is wider than the terminal, except a command to be copied, and the data contains
// no character that controls the terminal.
func TestTextFits(t *testing.T) {
	t.Parallel()
	for name, r := range reports(t) {
		for _, width := range []int{40, 60, 80, 120} {
			text := output(t, func(w io.Writer, r report.Report) error { return report.Text(w, r, report.Look{Width: width}) }, r)
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSuffix(line, "\n")
				if utf8.RuneCountInString(line) > width && !strings.Contains(line, "   operon prove ") {
					t.Errorf("%s: in %d columns: %q", name, width, line)
				}
				if strings.ContainsFunc(line, steers) {
					t.Errorf("%s: %q has control characters", name, line)
				}
			}
		}
	}
}
