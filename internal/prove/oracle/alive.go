package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// alive judges the exits of the operator in a step.
func alive(m *moment) []finding.Finding {
	var found []finding.Finding
	unasked := 0
	for _, exit := range m.run.Exits {
		if exit.Step != m.step.Name && (exit.Step != "" || m.i > 0) {
			continue
		}
		if exit.Panic != "" {
			found = append(found, finding.Finding{
				Property: finding.Alive, Message: "the operator panics: " + constant(exit.Panic), Log: exit.Log,
			})
			continue
		}
		if exit.Asked || exit.PortTaken() { // another instance on this machine had it, as none has in a cluster
			continue
		}
		if unasked++; unasked < often && mayEnd(m, exit) {
			continue
		}
		found = append(found, finding.Finding{
			Property: finding.Alive, Message: "the operator exits on its own, " + how(exit), Log: exit.Log,
		})
	}
	if len(found) > 1 {
		found = found[:1] // it was restarted, and ended again
	}
	return found
}

// often is the number of exits in a step from which on no excuse is accepted.
const often = 3

// startUp is how long an operator may not know yet what to do with an error.
const startUp = 10 * time.Second

// excuses are faults after which operators exit on purpose, to be restarted: they lost their
// lease, their token, or the API server.
var excuses = []fault.Kind{"outage", "expire", "lose-lease", "overlap"}

// mayEnd reports whether an operator was allowed to exit: Kubernetes restarts it.
func mayEnd(m *moment, exit runlog.Exit) bool {
	for _, f := range m.faults {
		if slices.Contains(excuses, f.Kind) || strings.HasPrefix(f.On.Resource, "leases") {
			return true
		}
	}
	began := exit.At.Add(-exit.After)
	return exit.After < startUp && slices.ContainsFunc(m.run.Requests, func(r requestlog.Request) bool {
		return r.Fault != "" && !r.IsWrite() && !r.At.Before(began) && r.At.Before(exit.At)
	})
}

// how an operator ended.
func how(exit runlog.Exit) string {
	switch {
	case exit.Panic != "":
		return "by a panic"
	case exit.Signal != "":
		return "by the signal " + exit.Signal
	}
	return fmt.Sprintf("with exit code %d", exit.Code)
}

// lastWords returns the last output of an operator.
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
