package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// requestRow is a request as a row of a table.
type requestRow struct {
	Offset, Verb, Object, Status, Effect string
	// Mark names the faults that were injected into the request. It is empty if there were none.
	Mark string
}

// requestRows formats requests. Times are relative to the first request with a fault, or, if there is none, to
// the first request.
func requestRows(requests []requestlog.Request) []requestRow {
	if len(requests) == 0 {
		return nil
	}
	zero := requests[0].At
	for _, r := range requests {
		if r.Fault != "" {
			zero = r.At
			break
		}
	}
	var rows []requestRow
	for _, r := range requests {
		rows = append(rows, requestRow{
			Offset: offset(r.At.Sub(zero)), Verb: terminal.Line(r.Verb), Object: terminal.Line(objectOf(&r)),
			Status: status(&r), Effect: effect(&r), Mark: mark(r.Fault),
		})
	}
	return rows
}

func offset(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < 0:
		return "-" + took(-d)
	}
	return "+" + took(d)
}

// status returns the status that the operator received, and the status from the server if it is different.
func status(r *requestlog.Request) string {
	switch {
	case r.Status == 0 && r.Served == 0:
		return "no response"
	case r.Status == 0:
		return strconv.Itoa(r.Served) + ", lost"
	case r.Served != 0 && r.Served != r.Status:
		return strconv.Itoa(r.Served) + " as " + strconv.Itoa(r.Status)
	}
	return strconv.Itoa(r.Status)
}

func effect(r *requestlog.Request) string {
	if r.DryRun {
		return "dry run"
	}
	return string(r.Effect)
}

// mark returns the faults of a request, without the request that they match.
func mark(text string) string {
	faults := strings.Split(text, "; ")
	for i, one := range faults {
		faults[i], _, _ = strings.Cut(one, " on ")
	}
	return terminal.Line(strings.Join(faults, ", "))
}
