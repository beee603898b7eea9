package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// alive checks the exits of the operator in a step.
func alive(m *moment) []finding.Finding {
	var found []finding.Finding
	unasked := 0
	for _, exit := range m.run.Exits {
		if exit.Step != m.step.Name && (exit.Step != "" || m.i > 0) {
			continue
		}
		if exit.Panic != "" {
			found = append(found, finding.Finding{
				Property: finding.Alive, Message: "the operator panics: " + constant(exit.Panic), Log: lastLines(exit.Log),
			})
			continue
		}
		if exit.Asked || exit.PortTaken() { // another instance on this machine used the port, which cannot happen in a cluster
			continue
		}
		if unasked++; unasked < often && mayEnd(m, exit) {
			continue
		}
		found = append(found, finding.Finding{
			Property: finding.Alive, Message: "the operator exits on its own, " + how(exit), Log: lastLines(exit.Log),
		})
	}
	if len(found) > 1 {
		found = found[:1] // it was restarted and exited again
	}
	return found
}

// often is the number of exits in a step at which exits are reported even after a fault that excuses them.
const often = 3

// startUp is how long after its start an operator may exit because of a failed read, or a failed write of its own start.
const startUp = 10 * time.Second

// excuses contains the faults after which operators exit on purpose, in order to be restarted: they lost their
// lease, their token, or the API server.
var excuses = []fault.Kind{"outage", "expire", "lose-lease", "overlap"}

// mayEnd reports whether the operator was allowed to exit, because Kubernetes restarts it.
func mayEnd(m *moment, exit runlog.Exit) bool {
	for _, f := range m.faults {
		if slices.Contains(excuses, f.Kind) || strings.HasPrefix(f.On.Resource, "leases") {
			return true
		}
	}
	began := exit.At.Add(-exit.After)
	if slices.ContainsFunc(m.run.Requests, func(r requestlog.Request) bool { return missedRenewal(&r, exit.At) }) {
		return true
	}
	return exit.After.Seconds() < startUp.Seconds()*max(1, exit.Slow) && slices.ContainsFunc(m.run.Requests, func(r requestlog.Request) bool {
		return r.Fault != "" && (!r.IsWrite() || m.run.keeps(&r) || m.refs.starts(&r)) && !r.At.Before(began) && r.At.Before(exit.At)
	})
}

// missedRenewal reports whether the API server, without a fault, responded too slowly or not at all to a write of a lease before an exit, so that
// the operator may have lost its lease. Half the renew deadline of controller-runtime, 10 s, is also the timeout of client-go for these requests.
func missedRenewal(r *requestlog.Request, exit time.Time) bool {
	return r.IsLease() && r.IsWrite() && r.Fault == "" && (r.Served >= 500 || r.Took >= 5*time.Second) &&
		r.At.Before(exit) && r.At.After(exit.Add(-30*time.Second))
}

// keeps reports whether a request is about an object that the operator keeps for itself.
func (r *run) keeps(one *requestlog.Request) bool {
	namespace := outside(r.Namespace, one.Namespace)
	return r.world.Own[normalize.ID(r.kindOf(one.Resource), one.Group, namespace, r.world.Neutral(one.Name))]
}

// starts reports whether the operator also sends a request in runs without faults before the workload begins: it prepares its
// own work, and may exit if it cannot.
func (refs *References) starts(one *requestlog.Request) bool {
	return slices.ContainsFunc(refs.base, func(r *run) bool {
		return slices.ContainsFunc(r.Requests, func(other requestlog.Request) bool {
			return len(r.Steps) > 0 && other.At.Before(r.Steps[0].At) && other.Verb == one.Verb && other.Group == one.Group &&
				other.Resource == one.Resource && r.world.Neutral(other.Name) == r.world.Neutral(one.Name)
		})
	})
}

// how describes how an operator exited.
func how(exit runlog.Exit) string {
	switch {
	case exit.Panic != "":
		return "by a panic"
	case exit.Signal != "":
		return "by the signal " + exit.Signal
	}
	return fmt.Sprintf("with exit code %d", exit.Code)
}

// lastLines returns the lines of a log that a finding shows.
func lastLines(log []string) []string {
	const most = 60
	return log[max(0, len(log)-most):]
}

// lastWords returns the last output of an operator, after a colon, or an empty string if there is no output.
func lastWords(exit runlog.Exit) string {
	if exit.Panic != "" {
		return ": " + exit.Panic
	}
	words := runlog.Words(exit.Log)
	if words == "" {
		return ""
	}
	return ": " + words
}

var varying = regexp.MustCompile(`0x[0-9a-f]+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\d+`)

// constant returns the first line of a message, without the parts that differ between runs.
func constant(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return varying.ReplaceAllString(line, "…")
}
