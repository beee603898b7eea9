package testplan_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

// TestScenarios creates plans from the traces in the files of testdata. A trace consists of lines:
//
//	trace                      begins a run
//	limit 20, seed 3           options
//	step create                begins a step of the workload
//	create configmaps/a        a request; a write changes something, unless it is followed by unchanged
//	create pods/x generated    a request with a name that the API server generated
//	watch boxes                a watch
//	MODIFIED boxes/a           a change by another client; then: deleting
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 6, planned)
}

func planned(t *testing.T, text string) string {
	t.Helper()
	refs, options := parsed(t, text)
	plans := testplan.Of(refs, workload.Workload{Name: "w"}, options)
	var b strings.Builder
	for _, p := range plans {
		if _, err := fault.NewScript(p.Faults...); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		fmt.Fprintf(&b, "%s\n    %s\n", strings.TrimSuffix(p.Name, " | w"), p.Why)
	}
	return fmt.Sprintf("%d plans\n%s", len(plans), b.String())
}

func parsed(t *testing.T, text string) (refs []runlog.Trace, options testplan.Options) {
	t.Helper()
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		switch words[0] {
		case "limit":
			options.Limit = number(t, words[1])
		case "seed":
			options.Seed = int64(number(t, words[1]))
		case "trace":
			refs = append(refs, runlog.Trace{Namespace: fmt.Sprintf("world-%d", len(refs))})
		default:
			add(&refs[len(refs)-1], words)
		}
	}
	return refs, options
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// groups maps the resources in scenarios to their API versions.
var groups = map[string]string{"boxes": "example.com/v1", "deployments": "apps/v1", "leases": "coordination.k8s.io/v1"}

func add(t *runlog.Trace, words []string) {
	now := time.Unix(int64(len(t.Requests)+len(t.Changes)+len(t.Steps)), 0)
	if words[0] == "step" {
		t.Steps = append(t.Steps, runlog.Step{Name: words[1], At: now})
		return
	}
	what, name, _ := strings.Cut(strings.ReplaceAll(words[1], "NS", t.Namespace), "/")
	what, subresource, _ := strings.Cut(what, ".")
	version := groups[what]
	if version == "" {
		version = "v1"
	}
	group, _, _ := strings.Cut(version, "/")
	if group == "v1" {
		group = ""
	}
	change := runlog.Change{At: now, Type: words[0], APIVersion: version, Kind: strings.TrimSuffix(what, "s"), Resource: what, Name: name, Version: fmt.Sprint(len(t.Changes))}
	if slices.Contains(words, "generated") {
		change.GenerateName = "x-"
	}
	change.Deleting = slices.Contains(words, "deleting")
	if what == "boxes" && strings.ToUpper(words[0]) == words[0] {
		change.Manager = "operon-prove"
	}
	if strings.ToUpper(words[0]) != words[0] {
		r := requestlog.Request{Seq: int64(len(t.Requests) + 1), At: now, Verb: words[0], Group: group, Resource: what, Subresource: subresource, Name: name}
		change.Type = map[string]string{"create": "ADDED", "delete": "DELETED"}[r.Verb]
		if change.Type == "" {
			change.Type = "MODIFIED"
		}
		if r.IsWrite() {
			r.Effect, r.After = requestlog.Changed, change.Version
			if slices.Contains(words, "unchanged") {
				r.Effect = requestlog.Unchanged
			}
		}
		t.Requests = append(t.Requests, r)
		if r.Effect == requestlog.Changed && what != "leases" {
			t.Changes = append(t.Changes, change)
		}
	} else {
		t.Changes = append(t.Changes, change)
	}
	if len(t.Steps) > 0 {
		last := &t.Steps[len(t.Steps)-1]
		last.Last, last.LastChange = int64(len(t.Requests)), len(t.Changes)
	}
}
