package proxy

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// newForward returns the handler that forwards requests and responses.
func (p *Proxy) newForward() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      sender(p.send),
		ModifyResponse: p.answer,
		ErrorHandler:   p.unanswered,
		ErrorLog:       log.New(io.Discard, "", 0), // its messages are already in the request log
		BufferPool:     &buffers{},
	}
}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In)
	r.Out.URL = x.to
	r.SetURL(p.target)
	if x.sender != nil {
		r.Out.Header.Del("Authorization") // the transport adds the operator's credentials
	}
	if x.Verb == "watch" {
		r.Out.Header.Set("Accept-Encoding", "identity") // API servers since 1.37 compress watches that begin with a list
	}
}

// answer receives the server's response before the operator does.
func (p *Proxy) answer(response *http.Response) error {
	x := exchangeOf(response.Request)
	x.Status, x.Served = response.StatusCode, response.StatusCode
	if err := p.look(response, x); err != nil {
		return err
	}
	for _, f := range x.due(fault.Effect) {
		if err := p.replace(response, x, f); err != nil {
			return err
		}
	}
	if x.sender.gone() {
		return errCut
	}
	return nil
}

// look reads a response. The response to a write is read to its end. Of any other response, the
// beginning is stored while it is forwarded.
func (p *Proxy) look(response *http.Response, x *exchange) error {
	switch {
	case response.StatusCode == http.StatusSwitchingProtocols || x.Streams():
		return nil
	case x.Verb == "watch" && response.StatusCode == http.StatusOK:
		response.Body = p.newFrames(response, x)
		return nil
	case !x.IsWrite():
		x.head = &head{from: response.Body, status: response.StatusCode, header: response.Header}
		response.Body = x.head
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		x.Effect = requestlog.Unknown
		return fmt.Errorf("the server's answer ended early: %w", err)
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	x.learn(p, response, body)
	setBody(response, body)
	return nil
}

// learn reads the response to a write.
func (x *exchange) learn(p *Proxy, response *http.Response, body []byte) {
	meta, _ := x.Answered(response.StatusCode, response.Header.Get("Content-Type"), plain(response.Header, body))
	ctx := response.Request.Context()
	x.Effect = p.effect(ctx, &x.Request, meta)
	p.clock.saw(resourceclient.Revision(x.After))
	p.leases.note(x)
	p.clock.note(&x.Request)
	if x.Effect == requestlog.Changed {
		p.clock.wrote(&x.Request, x.seen)
	}
}

// plain returns the available part of a body, decompressed.
func plain(header http.Header, body []byte) []byte {
	if header.Get("Content-Encoding") != "gzip" {
		return body
	}
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	whole, _ := io.ReadAll(io.LimitReader(reader, maxSent)) // on an error, the part before it is used
	return whole
}

// replace applies a fault to a response of the server.
func (p *Proxy) replace(response *http.Response, x *exchange, f fault.Fault) error {
	status, header, body, err := p.happen(response.Request.Context(), x, f, p.now)
	if err != nil || status == 0 {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	x.Status = status
	response.StatusCode, response.Status = status, strconv.Itoa(status)+" "+http.StatusText(status)
	response.Header = header
	setBody(response, body)
	return nil
}

func setBody(response *http.Response, body []byte) {
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	response.TransferEncoding = nil
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// unanswered ends a request without a response. The operator sees the same as when the
// API server is unavailable.
func (p *Proxy) unanswered(_ http.ResponseWriter, r *http.Request, err error) {
	exchangeOf(r).failed(err)
	panic(http.ErrAbortHandler)
}

// maxHead is the maximum number of bytes of a streamed response that are stored.
const maxHead = 64 << 10

// head stores the beginning of the data that is read through it.
type head struct {
	from   io.ReadCloser
	kept   []byte
	broken error
	status int
	header http.Header
}

// Read implements io.Reader.
func (h *head) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		h.broken = err
	}
	h.kept = append(h.kept, p[:min(n, maxHead-len(h.kept))]...)
	return n, err
}

// Close implements io.Closer.
func (h *head) Close() error { return h.from.Close() }

// tell adds the information from the beginning of the response to the record of a request.
func (h *head) tell(r *requestlog.Request) {
	r.Answered(h.status, h.header.Get("Content-Type"), plain(h.header, h.kept))
	if h.broken != nil {
		r.Error = h.broken.Error()
	}
}

// buffers is a pool of buffers for copying.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, 32<<10)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }

// errTooLong is the error for a watch event that is longer than any event of an API server.
var errTooLong = errors.New("an event of a watch is longer than 64 MiB")
