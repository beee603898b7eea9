package report

import (
	"encoding/xml"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// JUnit writes a test case for each plan, in a suite for each class of faults, in the format of CI
// systems. A plan whose fault was not injected is skipped. A finding that no plan shows is a separate
// case.
func JUnit(w io.Writer, r Report) error {
	r = Redact(r)
	all := testSuites{Name: "operon prove " + terminal.Clean(r.Operator.Name), Time: seconds(r.Took)}
	for _, s := range r.suites() {
		suite := testSuite{Name: terminal.Clean(s.Class)}
		for _, i := range s.Runs {
			suite.add(r.caseOf(i))
		}
		all.add(&r, suite)
	}
	orphans := slices.DeleteFunc(r.orphans(), func(i int) bool { return !r.Findings[i].Fails() })
	if len(orphans) > 0 {
		suite := testSuite{Name: "not part of a test case"}
		for _, i := range orphans {
			f := &r.Findings[i]
			suite.add(testCase{
				Name: terminal.Clean(short(f.Message, 200)), Class: terminal.Clean(string(f.Property)), Time: seconds(0), Failure: r.failureOf([]int{i}),
			})
		}
		all.add(&r, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type testSuites struct {
	XMLName  xml.Name    `xml:"testsuites"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Suites   []testSuite `xml:"testsuite"`
}

type testSuite struct {
	Name      string     `xml:"name,attr"`
	Tests     int        `xml:"tests,attr"`
	Failures  int        `xml:"failures,attr"`
	Errors    int        `xml:"errors,attr"`
	Skipped   int        `xml:"skipped,attr"`
	Time      string     `xml:"time,attr"`
	Timestamp string     `xml:"timestamp,attr"`
	Cases     []testCase `xml:"testcase"`
	took      time.Duration
}

type testCase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr"`
	Skipped *skipped `xml:"skipped"`
	Failure *failure `xml:"failure"`
	took    time.Duration
}

type skipped struct {
	Message string `xml:"message,attr"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func (s *testSuites) add(r *Report, suite testSuite) {
	suite.Time, suite.Timestamp = seconds(suite.took), r.Started.UTC().Format("2006-01-02T15:04:05")
	s.Suites = append(s.Suites, suite)
	s.Tests += suite.Tests
	s.Failures += suite.Failures
}

func (s *testSuite) add(c testCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	s.took += c.took
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// caseOf returns the test case of a run. All its findings are one failure, because many readers do not accept a second one.
func (r *Report) caseOf(i int) testCase {
	run := &r.Runs[i]
	c := testCase{Name: terminal.Clean(run.Plan), Class: terminal.Clean(FaultClass(run.Faults)), Time: seconds(run.Took), took: run.Took}
	var failures []int
	for _, key := range run.Findings {
		if at := r.byKey(key); at >= 0 && r.Findings[at].Fails() {
			failures = append(failures, at)
		}
	}
	switch {
	case len(failures) > 0:
		c.Failure = r.failureOf(failures)
	case run.Verdict == Failed:
		c.Failure = &failure{Message: "the test case is " + string(run.Verdict), Type: string(run.Verdict)}
	case run.Verdict == Void:
		c.Skipped = &skipped{"the fault did not fire"}
	case run.Verdict == Aborted:
		c.Skipped = &skipped{terminal.Clean(short("it could not be completed: "+run.Problem, shown))}
	}
	return c
}

// failureOf describes findings in the same words as on a terminal.
func (r *Report) failureOf(findings []int) *failure {
	text := &page{}
	for _, i := range findings {
		text.finding(i+1, &r.Findings[i])
	}
	first := &r.Findings[findings[0]]
	message := first.Message
	if first.Flaky {
		message = "flaky: " + message
	}
	if more := len(findings) - 1; more > 0 {
		message += ", and " + plural.Count(more, "other finding")
	}
	return &failure{Message: terminal.Clean(short(message, shown)), Type: terminal.Clean(string(first.Property)), Text: terminal.Clean(text.text.String())}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
