package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/report"
)

func TestCourseKeepsWhatTells(t *testing.T) {
	t.Parallel()
	run := written(t, time.Second, `
		0ms step create 900ms
		1ms get caches/demo 200
		2ms update leases/lock 200 changed
		3ms watch caches 200
		4ms watch caches 200 ! cut-watch on watch caches #1
		5ms create configmaps/demo 201 changed
		6ms ADDED configmaps/demo
		7ms MODIFIED leases/lock
		8ms exit 8ms`)
	run.Requests[0].Resource, run.Requests[0].Path = "", "/apis"
	for i := range 50 {
		run.Exits[0].Log = append(run.Exits[0].Log, fmt.Sprint("line ", i))
	}
	course := report.CourseOf(run)
	var kept []string
	for _, r := range course.Requests {
		kept = append(kept, r.Verb+" "+r.Resource)
		if r.Body != "" {
			t.Errorf("%s %s has the hash of its body", r.Verb, r.Resource)
		}
	}
	if got := strings.Join(kept, ", "); got != "watch caches, create configmaps" {
		t.Errorf("kept %s", got)
	}
	if len(course.Changes) != 1 || course.Changes[0].Resource != "configmaps" || course.Cut != 0 {
		t.Errorf("kept the changes %+v, cut %d", course.Changes, course.Cut)
	}
	if log := course.Exits[0].Log; len(log) != 20 || log[19] != "line 49" || len(run.Exits[0].Log) != 50 {
		t.Errorf("kept the log %q of %d", log, len(run.Exits[0].Log))
	}
	if step := course.Steps[0]; step.Name != "create" || step.Took != 900*time.Millisecond || !step.Silent {
		t.Errorf("the step is %+v", step)
	}
}

// Reads are removed first. Of the writes, the first, the last, and the writes with a fault stay.
func TestCourseIsShort(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	fmt.Fprintln(&text, "0ms step create 10s")
	for i := range 1000 {
		fmt.Fprintf(&text, "%dms get configmaps/demo 200\n%dms update configmaps/demo-%d 200 changed", 10*i, 10*i+1, i)
		if i == 500 {
			fmt.Fprint(&text, " ! conflict on update")
		}
		fmt.Fprintln(&text)
	}
	course := report.CourseOf(written(t, 10*time.Second, text.String()))
	if n := len(course.Requests); n != 161 || course.Cut != 2000-161 {
		t.Fatalf("%d requests are left, and %d cut", n, course.Cut)
	}
	for i, want := range map[int]string{0: "demo-0", 79: "demo-79", 80: "demo-500", 81: "demo-920", 160: "demo-999"} {
		if got := course.Requests[i].Name; got != want {
			t.Errorf("request %d is of %s, want %s", i, got, want)
		}
	}
}
