package report_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

const password, other = `corr<ect "horse"`, "battery-staple"

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// confiding returns a report with values of Secrets in all places that can contain them.
func confiding() report.Report {
	secret := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": encoded(password)}, "stringData": map[string]any{"other": other},
			"metadata": map[string]any{"name": "login", "annotations": map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"password":"` + encoded(password) + `"}}`,
			}},
		}}
	}
	whole := `{"data":{"password":"` + encoded(password) + `"},"kind":"Secret","metadata":{"labels":{"app":"demo"}}}`
	f := finding.Finding{
		Property: finding.SameState, Of: of("Secret", "login"), Message: "the password is " + password, Step: "set " + other,
		Diff: []finding.Difference{
			{Of: "Secret/login", Path: "data[password]", Want: `"` + encoded(password) + `"`, Got: `"` + encoded(other) + `"`},
			{Of: "Secret/login", Path: "data", Want: `{"password":"` + encoded(password) + `"}`},
			{Of: "Secret/login", Path: "stringData.pin", Got: `1234`},
			{Of: "secrets/login", Want: whole, Got: "not JSON: " + password},
			{Of: "Secret/login", Path: "metadata.annotations", Want: `{"kubectl.kubernetes.io/last-applied-configuration":"{\"pin\":\"8765\"}"}`},
			{Of: "Secret/login", Path: "metadata.labels.app", Want: `"demo"`},
			{Of: "Secret/login", Want: `"exists"`},
			{Of: "ConfigMap/copy", Path: "data.url", Want: `"db://corr<ect \"horse\"@db"`, Got: `"` + encoded(other) + `"`},
		},
		Log:  []string{"logging in with " + password},
		Last: []requestlog.Request{{Verb: "create", Body: "0123456789abcdef", Error: "cannot send " + other}},
		Plan: &testplan.Plan{Name: "kill " + other, Why: password, Workload: workload.Workload{Name: other, Steps: []workload.Step{
			{Name: other, Apply: []*unstructured.Unstructured{secret(), {Object: map[string]any{"kind": "ConfigMap", "data": map[string]any{"mode": "plain", "url": []any{"db://" + other}}}}}},
			{Drift: &workload.Drift{Of: *of("ConfigMap", "copy"), Patch: map[string]any{"data": map[string]any{"url": other}}}},
			{Drift: &workload.Drift{Of: *of("Secret", "login"), Patch: map[string]any{"stringData": map[string]any{"other": "pa55word"}}}},
		}}},
	}
	course := report.Course{
		Requests: []requestlog.Request{{Body: "0123456789abcdef", Error: password}}, Steps: []report.Step{{Name: other, Why: password}},
		Exits: []runlog.Exit{{Step: other, Panic: password, Log: []string{other}}},
	}
	return report.Report{
		Runs:     []report.Run{{Plan: "kill " + other, Why: password, Problem: "it said " + password, Findings: []string{f.Key()}, Verdict: report.Failed}},
		Findings: []finding.Finding{f}, Timelines: []report.Timeline{{Key: f.Key(), Failing: course, Reference: &course}},
		Notes: []string{"not covered: " + other},
	}
}

func TestNoValueOfASecretIsInAnOutput(t *testing.T) {
	t.Parallel()
	all := map[string]func(io.Writer, report.Report) error{"json": report.JSON}
	for name, write := range outputs {
		all[name] = write
	}
	for name, write := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := string(output(t, write, confiding()))
			for _, value := range []string{"horse", "corr<", encoded(password), other, encoded(other), "1234", "8765", "pa55word", "0123456789abcdef"} {
				if strings.Contains(got, value) {
					t.Errorf("%q is in\n%s", value, got)
				}
			}
		})
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	given := confiding()
	once := report.Redact(given)
	if !reflect.DeepEqual(given, confiding()) {
		t.Error("the report that was given is another one afterwards")
	}
	if twice := report.Redact(once); !reflect.DeepEqual(once, twice) {
		t.Errorf("what was redacted was redacted again, to\n%+v\nfrom\n%+v", twice, once)
	}
	diff := once.Findings[0].Diff
	for i, want := range []finding.Difference{
		{Of: "Secret/login", Path: "data[password]", Want: `"‹secret value 1›"`, Got: `"‹secret value 2›"`},
		{Of: "Secret/login", Path: "data", Want: `{"password":"‹secret value 1›"}`},
		{Of: "Secret/login", Path: "stringData.pin", Got: `"‹secret value 3›"`},
		{Of: "secrets/login", Want: `{"data":{"password":"‹secret value 1›"},"kind":"Secret","metadata":{"labels":{"app":"demo"}}}`, Got: "‹secret value 4›"},
		{Of: "Secret/login", Path: "metadata.annotations", Want: `{"kubectl.kubernetes.io/last-applied-configuration":"‹secret value 5›"}`},
		{Of: "Secret/login", Path: "metadata.labels.app", Want: `"demo"`},
		{Of: "Secret/login", Want: `"exists"`},
		{Of: "ConfigMap/copy", Path: "data.url", Want: `"db://‹secret value 1›@db"`, Got: `"‹secret value 2›"`},
	} {
		if diff[i] != want {
			t.Errorf("difference %d is\n%+v\nwant\n%+v", i, diff[i], want)
		}
	}
	if once.Timelines[0].Key != once.Findings[0].Key() || once.Runs[0].Findings[0] != once.Findings[0].Key() {
		t.Errorf("the finding %q is referred to as %q and %q", once.Findings[0].Key(), once.Timelines[0].Key, once.Runs[0].Findings)
	}
	if kept := once.Findings[0].Plan.Workload.Steps[0].Apply[1].Object["data"]; !reflect.DeepEqual(kept, map[string]any{"mode": "plain", "url": []any{"db://‹secret value 2›"}}) {
		t.Errorf("a ConfigMap became %v", kept)
	}
}

// A JSON report that is read and written again is unchanged.
func TestJSON(t *testing.T) {
	t.Parallel()
	for name, r := range reports(t) {
		if name == "hostile" { // contains invalid UTF-8
			continue
		}
		written := output(t, report.JSON, r)
		var read report.Report
		if err := json.Unmarshal(written, &read); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again := output(t, report.JSON, read); !bytes.Equal(written, again) {
			t.Errorf("%s: read and written again it is\n%s\nwant\n%s", name, again, written)
		}
		if len(read.Findings) != len(r.Findings) || len(read.Runs) != len(r.Runs) || len(read.Timelines) != len(r.Timelines) || read.Took != r.Took || !read.Started.Equal(r.Started) {
			t.Errorf("%s: read %+v", name, read)
		}
	}
}

// Every report that can be read can be written in each format.
func FuzzRead(f *testing.F) {
	var seed bytes.Buffer
	if err := report.JSON(&seed, confiding()); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Add([]byte(`{"format":"operon-report/1","runs":[{"plan":"a","faults":[{"kind":"kill"}]}],"findings":[{}],"timelines":[{"key":"||"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r report.Report
		if err := json.Unmarshal(data, &r); err != nil {
			return
		}
		for name, write := range outputs {
			if err := write(io.Discard, r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
