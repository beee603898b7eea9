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

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// exchange is one request with its response.
type exchange struct {
	requestlog.Request
	sender *Instance // nil if the request has its own credentials
	leave  func()    // marks the request as ended for the revocation of its sender
	begun  func()    // the watch has begun, or the request has ended
	to     *url.URL  // path and query of the request to the server
	faults []fault.Fault
	accept string
	head   *head // the beginning of a response that is streamed

	epoch   int    // epoch of the views when the request arrived
	present string // the original query of a list that is forwarded as a list of an earlier state
	seen    uint64 // the newest version when the request was forwarded
}

// inContext is the context key of the exchange of a request.
type inContext struct{}

func exchangeOf(r *http.Request) *exchange { return r.Context().Value(inContext{}).(*exchange) }

// maxSent is the maximum number of bytes of a request that are read before it is forwarded. The API server rejects more
// than 3 MiB.
const maxSent = 4 << 20

// handle processes a request of the operator from beginning to end.
func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		panic(http.ErrAbortHandler)
	}
	defer p.inside.Done()
	x, known, ok := p.admit(r)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	defer x.leave()
	x.begun = p.meter.begin(&x.Request)
	defer x.begun()
	defer p.note(x)
	if !known {
		x.struckBy("the token has expired")
		p.refuse(w, x, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	if err := x.receive(r); err != nil {
		x.Error = err.Error()
		panic(http.ErrAbortHandler)
	}
	for _, f := range p.options.Script.Next(x.Request) {
		x.faults = append(x.faults, f)
		x.struckBy(f.String())
	}
	if p.strike(r.Context(), w, x) {
		return
	}
	if len(x.faults) > 0 { // the effects of its own faults count as earlier than the request
		_, x.epoch, _ = p.views.in(x.Resource, x.Instance, 0)
	}
	p.pass(w, r, x)
	p.afterwards(r.Context(), w, x)
}

// admit accepts a request, unless its sender was revoked. It reports whether the sender's token is
// still valid.
func (p *Proxy) admit(r *http.Request) (x *exchange, known, ok bool) {
	sender, known := p.senders.of(r)
	if !sender.enter() {
		return nil, false, false
	}
	to := *r.URL
	x = &exchange{Request: requestlog.Of(r), accept: r.Header.Get("Accept"), sender: sender, leave: func() {}, to: &to}
	if sender != nil {
		x.Instance = sender.number
		x.leave = sync.OnceFunc(sender.inside.Done)
		usedBy(r.Context(), sender)
		if x.IsLease() && x.Name != "" {
			p.leases.ask(sender, time.Now())
		}
		if x.Request.Counts() {
			p.views.come(sender.number)
		}
	}
	_, x.epoch, _ = p.views.in(x.Resource, x.Instance, 0)
	x.Stale = p.views.frozenFor(x.Instance)
	x.Seq, x.At = p.record.Number(), time.Now()
	return x, known, true
}

// pass forwards a request, and returns the response to the sender.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, x *exchange) {
	ctx, end := x.span(r.Context())
	defer end()
	if err := p.narrow(ctx, x, x.to); err != nil {
		x.failed(err)
		panic(http.ErrAbortHandler)
	}
	if failure, refused := p.refused(x); refused {
		p.refuse(w, x, failure)
		return
	}
	p.antedate(x)
	p.before(ctx, &x.Request)
	x.seen = p.clock.newest.Load()
	for _, chosen := range p.options.Script.Passes(x.Request) {
		p.clock.mark(chosen.String(), p.revision(ctx))
	}
	if x.sender.gone() || r.Context().Err() != nil {
		x.failed(errCut)
		panic(http.ErrAbortHandler)
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(ctx, inContext{}, x)))
}

// refuse responds with an error of the API server.
func (p *Proxy) refuse(w http.ResponseWriter, x *exchange, failure apierrors.APIStatus) {
	status, header, body, err := fault.Encode(failure, x.accept)
	if err != nil {
		x.failed(err)
		panic(http.ErrAbortHandler)
	}
	x.reply(w, status, header, body)
}

// span returns a context for a request to the server. It ends with the request and with its
// sender. The context of a write ends some time later, so that the effect of the write is known.
func (x *exchange) span(ctx context.Context) (context.Context, func()) {
	spanned, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := cancel
	if x.IsWrite() && !x.Streams() {
		end = func() { time.AfterFunc(timing.grace, cancel) }
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

// receive reads the body of a write and restores it.
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
	body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(sent)), nil }
	r.GetBody = body // for another connection, if the server closes this one before anything was sent
	r.Body, err = body()
	return err
}

// readCloser is a body of which a part has already been read.
type readCloser struct {
	io.Reader
	io.Closer
}

// failed records why there was no response, unless the response was withheld on purpose.
func (x *exchange) failed(err error) {
	x.Status = 0
	if !errors.Is(err, errCut) {
		x.Error = err.Error()
	}
	if x.Served == 0 && x.IsWrite() {
		x.Effect = requestlog.Unknown
		if errors.Is(err, errCut) {
			x.Effect = requestlog.Unchanged
		}
	}
}

// note records an exchange that has ended.
func (p *Proxy) note(x *exchange) {
	if x.head != nil {
		x.head.tell(&x.Request)
	}
	p.clock.saw(resourceclient.Revision(x.After))
	x.Took = time.Since(x.At)
	p.record.Add(x.Request)
}
