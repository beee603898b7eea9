package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/operon-framework/operon/prove/fault"
	"github.com/operon-framework/operon/prove/record"
)

// exchange is one request with its answer.
type exchange struct {
	record.Request
	sender *Instance // nil where the request has credentials of its own
	leave  func()    // the sender need not wait for this one any more
	to     *url.URL  // what is asked of the server: path and query
	fault  *fault.Fault
	accept string
	head   *head // the beginning of an answer that is sent on as it comes
}

// inContext is the key of an exchange in the context of its request.
type inContext struct{}

func exchangeOf(r *http.Request) *exchange { return r.Context().Value(inContext{}).(*exchange) }

// strikes tells whether the request's fault is due at a moment.
func (x *exchange) strikes(when fault.Moment) bool { return x.fault != nil && x.fault.Moment == when }

// maxSent is how much of a request is read before it goes on. The API server refuses more
// than 3 MiB.
const maxSent = 4 << 20

// handle takes a request of the operator through its whole way.
func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		panic(http.ErrAbortHandler)
	}
	defer p.inside.Done()
	x, ok := p.admit(r)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	defer x.leave()
	defer p.meter.begin(&x.Request)()
	defer p.note(x)
	if err := x.receive(r); err != nil {
		x.Error = err.Error()
		panic(http.ErrAbortHandler)
	}
	if f, ok := p.options.Script.Next(x.Request); ok {
		x.fault, x.Fault = &f, f.String()
	}
	if x.strikes(fault.Before) && p.strike(r.Context(), w, x) {
		return
	}
	p.pass(w, r, x)
	if x.strikes(fault.Answer) {
		p.afterwards(r.Context(), w, x)
	}
}

// admit lets a request in, unless its sender was revoked.
func (p *Proxy) admit(r *http.Request) (*exchange, bool) {
	sender, _ := p.senders.of(r)
	if !sender.enter() {
		return nil, false
	}
	to := *r.URL
	x := &exchange{Request: record.Of(r), accept: r.Header.Get("Accept"), sender: sender, leave: func() {}, to: &to}
	if sender != nil {
		x.Instance = sender.number
		x.leave = sync.OnceFunc(sender.inside.Done)
		usedBy(r.Context(), sender)
	}
	x.Seq, x.At = p.options.Log.Number(), time.Now()
	return x, true
}

// pass sends a request on, and the answer back.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, x *exchange) {
	ctx, end := x.span(r.Context())
	defer end()
	if err := p.narrow(ctx, x, x.to); err != nil {
		x.failed(err)
		panic(http.ErrAbortHandler)
	}
	p.before(ctx, &x.Request)
	if x.sender.gone() || r.Context().Err() != nil {
		x.failed(errCut)
		panic(http.ErrAbortHandler)
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(ctx, inContext{}, x)))
}

// grace is how long the server may take to answer a write whose sender is gone.
const grace = time.Second

// span returns a context for what is asked of the server. It ends with the request and with its
// sender; that of a write a while later, so that it is known what the write did.
func (x *exchange) span(ctx context.Context) (context.Context, func()) {
	spanned, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := cancel
	if x.IsWrite() && !x.Streams() {
		end = func() { time.AfterFunc(grace, cancel) }
	}
	stops := []func() bool{context.AfterFunc(ctx, end)}
	if x.sender != nil {
		stops = append(stops, context.AfterFunc(x.sender.alive, end))
	}
	return spanned, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// receive reads the body and puts it back.
func (x *exchange) receive(r *http.Request) error {
	if !x.IsWrite() || x.Streams() || r.Header.Get("Upgrade") != "" || r.Body == nil {
		return nil
	}
	sent, err := io.ReadAll(io.LimitReader(r.Body, maxSent+1))
	if err != nil {
		return fmt.Errorf("the request ended early: %w", err)
	}
	if len(sent) > maxSent {
		r.Body = readCloser{io.MultiReader(bytes.NewReader(sent), r.Body), r.Body}
		return nil
	}
	x.Sent(sent)
	r.Body = io.NopCloser(bytes.NewReader(sent))
	return nil
}

// readCloser is a body of which some was read already.
type readCloser struct {
	io.Reader
	io.Closer
}

// errCut ends a request without an answer, on purpose.
var errCut = errors.New("cut")

// strike lets the fault happen that strikes before the request goes on. It returns true where the
// request has been answered.
func (p *Proxy) strike(ctx context.Context, w http.ResponseWriter, x *exchange) (answered bool) {
	status, header, body, err := p.happen(ctx, x)
	if err != nil {
		x.failed(err)
		panic(http.ErrAbortHandler)
	}
	if status == 0 {
		return false
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		x.failed(err)
	}
	return true
}

// happen lets the fault of a request happen, whether before or after the server's work. It
// returns the answer where the fault is one, and an error where there is to be none.
func (p *Proxy) happen(ctx context.Context, x *exchange) (int, http.Header, []byte, error) {
	switch x.fault.Kind {
	case fault.Cut:
		return 0, nil, nil, errCut
	case fault.Kill:
		x.leave()
		p.options.Kill()
		return 0, nil, nil, errCut
	case fault.Delay:
		return 0, nil, nil, pause(ctx, x.fault.For.Duration)
	}
	status, header, body, err := x.fault.Answer(x.Request, x.accept)
	if err != nil {
		return 0, nil, nil, err
	}
	x.Status = status
	if x.Served == 0 && x.IsWrite() {
		x.Effect = record.Unchanged
	}
	return status, header, body, nil
}

// afterwards lets a fault happen once the answer has been sent. The context of a request ends
// when HTTP/2 has sent the end of the answer; in HTTP/1.1 all of it is sent by then.
func (p *Proxy) afterwards(ctx context.Context, w http.ResponseWriter, x *exchange) {
	if err := http.NewResponseController(w).Flush(); err != nil {
		x.failed(err)
	}
	do := p.options.Kill
	if x.fault.Kind == fault.Cut {
		do = func() { hangUp(ctx) }
	}
	p.inside.Add(1)
	context.AfterFunc(ctx, func() {
		defer p.inside.Done()
		do()
	})
}

// failed notes why there was no answer, unless that was on purpose.
func (x *exchange) failed(err error) {
	x.Status = 0
	if !errors.Is(err, errCut) {
		x.Error = err.Error()
	}
	if x.Served == 0 && x.IsWrite() {
		x.Effect = record.Unknown
		if errors.Is(err, errCut) {
			x.Effect = record.Unchanged
		}
	}
}

// note records an exchange that has ended.
func (p *Proxy) note(x *exchange) {
	if x.head != nil {
		x.head.tell(&x.Request)
	}
	x.Took = time.Since(x.At)
	p.options.Log.Add(x.Request)
}

// pause lets a while pass, unless ctx ends before.
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
