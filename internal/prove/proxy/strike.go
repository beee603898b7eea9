package proxy

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// errCut ends a request without a response, on purpose.
var errCut = errors.New("cut")

// due returns the faults of a request at a moment. The fault that determines the result is last.
func (x *exchange) due(when fault.Moment) []fault.Fault {
	var due []fault.Fault
	for _, f := range x.faults {
		if x.moment(f) == when {
			due = append(due, f)
		}
	}
	slices.SortStableFunc(due, func(a, b fault.Fault) int { return rank(a) - rank(b) })
	return due
}

// moment returns when a fault is injected into the request. A view that must not show the effect of a write has to
// be frozen before the write takes effect: watches may be faster than the response.
func (x *exchange) moment(f fault.Fault) fault.Moment {
	if (f.Kind == fault.Hold || f.Kind == fault.Skip) && x.IsWrite() {
		return fault.Before
	}
	return f.Moment
}

func rank(f fault.Fault) int {
	if f.Decides() {
		return 1
	}
	return 0
}

// struckBy adds the faults of a request, or of its events, to the record.
func (x *exchange) struckBy(what string) {
	switch {
	case x.Fault == "":
		x.Fault = what
	case !strings.Contains(x.Fault, what):
		x.Fault += "; " + what
	}
}

// strike executes the faults that are injected before the request is forwarded. It returns true if the
// request has been answered.
func (p *Proxy) strike(ctx context.Context, w http.ResponseWriter, x *exchange) (answered bool) {
	for _, f := range x.due(fault.Before) {
		status, header, body, err := p.happen(ctx, x, f, p.now)
		if err != nil {
			x.failed(err)
			panic(http.ErrAbortHandler)
		}
		if status != 0 {
			x.reply(w, status, header, body)
			return true
		}
	}
	return false
}

// reply responds to a request in place of the server.
func (x *exchange) reply(w http.ResponseWriter, status int, header http.Header, body []byte) {
	x.Status = status
	if x.IsWrite() {
		x.Effect = requestlog.Unchanged
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("Connection", "close") // the API server does this for unauthenticated clients
	}
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		x.failed(err)
	}
}

// moment returns the version at which a fault is injected. It is called only if the version matters.
type moment func(context.Context, *exchange) uint64

// now returns the newest version, or, after a write, the version of the write.
func (p *Proxy) now(ctx context.Context, x *exchange) uint64 {
	if x.Effect == requestlog.Changed && x.After != "" {
		return resourceclient.Revision(x.After)
	}
	return p.revision(ctx)
}

// happen executes a fault, before or after the server's work, or before an event is shown.
// It returns the response if the fault is a response, and an error if there must be no response.
func (p *Proxy) happen(ctx context.Context, x *exchange, f fault.Fault, at moment) (int, http.Header, []byte, error) {
	switch f.Kind {
	case fault.Cut:
		return 0, nil, nil, errCut
	case fault.Past:
		p.freeze(f, p.ago(f, at(ctx, x)), p.senders.last()+1)
		fallthrough
	case fault.Kill:
		x.leave()
		p.options.Kill()
		return 0, nil, nil, errCut
	case fault.Outage:
		p.outage(f.For.Duration)
		return 0, nil, nil, errCut
	case fault.Delay:
		return 0, nil, nil, pause(ctx, f.For.Duration)
	case fault.Hold, fault.Skip:
		p.freeze(f, at(ctx, x), 0)
		return 0, nil, nil, nil
	case fault.Relist:
		p.views.relist(f.View)
		return 0, nil, nil, nil
	}
	return p.happenTo(ctx, x, f)
}

// happenTo executes a fault that concerns the operator's identity or is a response.
func (p *Proxy) happenTo(ctx context.Context, x *exchange, f fault.Fault) (int, http.Header, []byte, error) {
	switch f.Kind {
	case fault.Overlap:
		go p.options.Overlap()
		return 0, nil, nil, nil
	case fault.LoseLease:
		if err := p.lose(ctx, x.sender, f); err != nil {
			x.struckBy(err.Error())
		}
		return 0, nil, nil, nil
	case fault.Expire:
		if err := x.sender.expire(f.For.Duration); err != nil {
			return 0, nil, nil, err
		}
		if x.Served != 0 {
			return 0, nil, nil, nil // the token was valid when the request was forwarded
		}
	}
	return f.Answer(x.Request, x.accept)
}

// ago returns the version that a Past shows if it is injected at the version now.
func (p *Proxy) ago(f fault.Fault, now uint64) uint64 {
	switch {
	case f.To != (fault.Match{}):
		return p.clock.marked(f.To.String())
	case f.Step != "":
		return p.clock.marked(f.Step)
	}
	return p.clock.before(f.Back, now)
}

// outage makes the server unavailable for a time.
func (p *Proxy) outage(while time.Duration) {
	p.meter.disturb(while)
	p.gate.cutAll(while)
}

// afterwards executes faults after the response has been sent. The context of a request ends
// when HTTP/2 has sent the end of the response. In HTTP/1.1 the whole response has been sent by then.
func (p *Proxy) afterwards(ctx context.Context, w http.ResponseWriter, x *exchange) {
	for _, f := range x.due(fault.Answer) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			x.failed(err)
		}
		p.inside.Add(1)
		context.AfterFunc(ctx, func() {
			defer p.inside.Done()
			switch f.Kind {
			case fault.Cut:
				hangUp(ctx)
				return
			case fault.Outage:
				_ = pause(p.alive, timing.linger) // until the response has arrived, or the proxy stops
			}
			_, _, _, _ = p.happen(context.WithoutCancel(ctx), x, f, p.now) // the response has already been sent
		})
	}
}

// pause waits for a time, or returns an error if ctx ends first.
func pause(ctx context.Context, while time.Duration) error {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
