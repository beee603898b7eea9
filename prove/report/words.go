package report

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/operon-framework/operon/prove/fault"
	"github.com/operon-framework/operon/prove/record"
)

// Words say what a fault did, as people would: "killed after `create configmaps/demo` took effect,
// before it learned of it". A fault of a kind that is not known here is told by its String.
func Words(f fault.Fault) string {
	request := chosen(f.On)
	switch f.Kind {
	case fault.Kill:
		return "killed " + moment(f.Moment, request)
	case fault.Cut:
		return "the connection was cut " + moment(f.Moment, request)
	case fault.Delay:
		if f.Moment == fault.Effect {
			return fmt.Sprintf("the answer to %s was held back for %s", request, f.For.Duration)
		}
		return fmt.Sprintf("%s was held back for %s", request, f.For.Duration)
	case fault.CutWatch:
		return fmt.Sprintf("%s was cut after %s", request, counted(f.Events, "event"))
	}
	status, known := answers[f.Kind]
	if !known {
		return f.String()
	}
	answer := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if f.Kind == fault.Throttle {
		answer += fmt.Sprintf(", retry after %ds", max(f.RetryAfter, fault.DefaultRetryAfter))
	}
	if f.Moment == fault.Effect {
		return fmt.Sprintf("%s took effect, and was answered with %s all the same", request, answer)
	}
	return fmt.Sprintf("%s was refused with %s", request, answer)
}

// answers are the status codes of faults that are answers.
var answers = map[fault.Kind]int{
	fault.Conflict: http.StatusConflict, fault.AlreadyExists: http.StatusConflict, fault.NotFound: http.StatusNotFound,
	fault.Throttle: http.StatusTooManyRequests, fault.ServerError: http.StatusInternalServerError,
	fault.Unavailable: http.StatusServiceUnavailable, fault.TimeOut: http.StatusGatewayTimeout,
}

func moment(m fault.Moment, request string) string {
	switch m {
	case fault.Effect:
		return "after " + request + " took effect, before it learned of it"
	case fault.Answer:
		return "right after " + request + " was answered"
	default:
		return "before " + request + " reached the API server"
	}
}

// chosen are the requests that a fault strikes.
func chosen(on fault.Match) string {
	resource, subresource, _ := strings.Cut(on.Resource, "/")
	verb := on.Verb
	if verb == "" {
		verb = "any request for"
	}
	if resource == "" {
		resource = "any object"
	}
	request := "`" + verb + " " + object(resource, strings.Trim(subresource, "*"), on.Name) + "`"
	first := max(on.Nth, 1)
	switch {
	case on.Times == fault.Always && first == 1:
		return "each " + request
	case on.Times == fault.Always:
		return fmt.Sprintf("each %s from the %s on", request, ordinal(first))
	case on.Times > 1:
		return fmt.Sprintf("the %s to the %s %s", ordinal(first), ordinal(first+on.Times-1), request)
	case first > 1 || on.Name == "":
		return "the " + ordinal(first) + " " + request
	}
	return request
}

// object names an object as people do: configmaps/demo, boxes/demo (status).
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

func objectOf(r *record.Request) string {
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

func counted(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// FaultClass is what plans are grouped by: the kind of their fault, and its moment where that makes
// the difference.
func FaultClass(faults []fault.Fault) string {
	if len(faults) == 0 {
		return "no fault"
	}
	var classes []string
	for _, f := range faults {
		class := string(f.Kind)
		switch {
		case f.Moment == fault.Effect, f.Moment == fault.Answer:
			class += " after " + string(f.Moment)
		case f.Kind == fault.Kill, f.Kind == fault.Cut:
			class += " before request"
		}
		if !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	return strings.Join(classes, ", ")
}
