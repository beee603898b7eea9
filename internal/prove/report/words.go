package report

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Words describes the effect of a fault for people: "killed after `create configmaps/demo` took effect,
// before it received the response". For an unknown kind of fault, it returns String of the fault.
func Words(f fault.Fault) string {
	what, when := struck(f.On), moment(&f)
	switch f.Kind {
	case fault.Kill:
		return "killed " + when
	case fault.Cut:
		return "the connection was cut " + when
	case fault.Delay:
		switch {
		case f.On.Verb == fault.Event:
			return fmt.Sprintf("%s was delivered %s late", what, f.For.Duration)
		case f.Moment == fault.Effect:
			return fmt.Sprintf("the response to %s was delayed by %s", what, f.For.Duration)
		}
		return fmt.Sprintf("%s was delayed by %s", what, f.For.Duration)
	case fault.CutWatch:
		return fmt.Sprintf("%s was cut after %s", what, plural.Count(f.Events, "event"))
	case fault.Outage:
		return fmt.Sprintf("the API server was unavailable for %s, starting %s", cmp.Or(f.For.Duration, fault.DefaultOutage), when)
	case fault.Expire:
		return fmt.Sprintf("its token was rejected as expired for %s, starting %s", cmp.Or(f.For.Duration, fault.DefaultExpire), when)
	case fault.Overlap:
		return "a second instance started " + when
	case fault.LoseLease:
		return fmt.Sprintf("another holder had its lease for %s, starting %s", cmp.Or(f.For.Duration, fault.DefaultLease), when)
	}
	if text, known := frozen(&f, when); known {
		return text
	}
	return answered(&f, what)
}

// frozen describes a fault that affects the operator's view. It returns false for other faults.
func frozen(f *fault.Fault, when string) (string, bool) {
	view := "all resources"
	if f.View != "" {
		view = "`" + f.View + "`"
	}
	switch f.Kind {
	case fault.Hold:
		return fmt.Sprintf("its cache of %s was stale for a while, starting %s", view, when), true
	case fault.Skip:
		return fmt.Sprintf("its cache of %s was stale for a while, starting %s, and it missed the events in between", view, when), true
	case fault.Relist:
		return fmt.Sprintf("its watch of %s ended with 410 Gone %s, so it had to list again", view, when), true
	case fault.Past:
		past := "before its last write"
		switch {
		case f.To != (fault.Match{}):
			past = "before " + struck(f.To)
		case f.Step != "":
			past = fmt.Sprintf("after the step %q", f.Step)
		case f.Back > 1:
			past = fmt.Sprintf("before its last %d writes", f.Back)
		}
		return fmt.Sprintf("killed %s, and the next instance saw the state of %s %s", when, view, past), true
	}
	return "", false
}

// answered describes a fault that is a response instead of the server's response.
func answered(f *fault.Fault, what string) string {
	status, known := answers[f.Kind]
	if !known {
		return f.String()
	}
	answer := fmt.Sprintf("%d %s", status, http.StatusText(status))
	switch f.Kind {
	case fault.AlreadyExists: // its status code is also that of a conflict
		answer = fmt.Sprintf("%d Already Exists", status)
	case fault.Throttle:
		answer += fmt.Sprintf(", retry after %ds", max(f.RetryAfter, fault.DefaultRetryAfter))
	}
	if f.Moment == fault.Effect {
		return fmt.Sprintf("%s took effect, but the response was %s", what, answer)
	}
	return fmt.Sprintf("%s was rejected with %s", what, answer)
}

// answers contains the status codes of the faults that are responses.
var answers = map[fault.Kind]int{
	fault.Conflict: http.StatusConflict, fault.AlreadyExists: http.StatusConflict, fault.NotFound: http.StatusNotFound,
	fault.Throttle: http.StatusTooManyRequests, fault.ServerError: http.StatusInternalServerError,
	fault.Unavailable: http.StatusServiceUnavailable, fault.TimeOut: http.StatusGatewayTimeout,
}

// moment describes when a fault is injected.
func moment(f *fault.Fault) string {
	what := struck(f.On)
	switch {
	case f.On.Verb == fault.Event:
		return "before it saw " + what
	case f.Moment == fault.Effect:
		return "after " + what + " took effect, before it received the response"
	case f.Moment == fault.Answer:
		return "right after the response to " + what
	}
	return "before " + what + " reached the API server"
}

// happenings names the change that a type of watch event shows.
var happenings = map[string]string{"ADDED": "creation", "MODIFIED": "change", "DELETED": "deletion", "": "event"}

// struck describes the requests or watch events into which a fault is injected.
func struck(on fault.Match) string {
	resource, subresource, _ := strings.Cut(on.Resource, "/")
	if resource == "" {
		resource = "any object"
	}
	of := object(resource, strings.Trim(subresource, "*"), on.Name)
	verb := cmp.Or(on.Verb, "any request for")
	request := "`" + verb + " " + of + "`"
	if on.Verb == fault.Event {
		request = happenings[on.Type] + " of `" + of + "`"
	}
	if on.Step != "" {
		request += fmt.Sprintf(" in the step %q", on.Step)
	}
	first := max(on.Nth, 1)
	switch {
	case on.Times == fault.Always && first == 1:
		return "each " + request
	case on.Times == fault.Always:
		return fmt.Sprintf("each %s from the %s on", request, ordinal(first))
	case on.Times > 1:
		return fmt.Sprintf("the %s to the %s %s", ordinal(first), ordinal(first+on.Times-1), request)
	case first > 1 || on.Name == "" || on.Verb == fault.Event:
		return "the " + ordinal(first) + " " + request
	}
	return request
}

// object formats an object for people: configmaps/demo, boxes/demo (status).
func object(resource, subresource, name string) string {
	text := resource
	if name != "" {
		text += "/" + name
	}
	if subresource != "" {
		text += " (" + subresource + ")"
	}
	return text
}

func objectOf(r *requestlog.Request) string {
	if r.Resource == "" {
		return r.Path
	}
	return object(r.Resource, r.Subresource, r.Name)
}

func ordinal(n int) string {
	suffix := "th"
	if tens := n % 100; tens < 11 || tens > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// FaultClass returns the class by which plans are grouped: the kind of their fault, and its moment if that
// matters.
func FaultClass(faults []fault.Fault) string {
	if len(faults) == 0 {
		return "no fault"
	}
	var classes []string
	for _, f := range faults {
		if class := classOf(&f); !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	return strings.Join(classes, ", ")
}

// classes contains the kinds of faults whose moment does not matter.
var classes = map[fault.Kind]string{
	fault.Hold: "stale cache", fault.Skip: "missed events", fault.Relist: "watch ends with 410", fault.Past: "time travel",
	fault.Outage: "API server unavailable", fault.Expire: "token expired", fault.Overlap: "two instances", fault.LoseLease: "lease lost",
	fault.CutWatch: "watch cut",
}

func classOf(f *fault.Fault) string {
	if class, known := classes[f.Kind]; known {
		return class
	}
	switch {
	case f.On.Verb == fault.Event:
		return string(f.Kind) + " before event"
	case f.Moment == fault.Effect, f.Moment == fault.Answer:
		return string(f.Kind) + " after " + string(f.Moment)
	case f.Kind == fault.Kill, f.Kind == fault.Cut:
		return string(f.Kind) + " before request"
	}
	return string(f.Kind)
}
