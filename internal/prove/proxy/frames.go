package proxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// frames is the response to a watch, event by event, as far as the operator may see it.
type frames struct {
	p    *Proxy
	x    *exchange
	ctx  context.Context
	body io.Closer

	form  form
	about *subject      // nil if the objects of the watch are not known
	come  chan frame    // events from the server
	end   func()        // called when no client reads any more
	ended chan struct{} // closed by end

	queue []frame // events received and not shown
	over  error   // the reason why no more events follow
	ready []byte  // the unread rest of the event that is being shown

	reached atomic.Uint64  // the newest version that was shown; 0 during the initial state
	initial bool           // true until the bookmark that ends the initial state
	start   uint64         // versions up to this one are the initial state and do not trigger faults
	epoch   int            // epoch of the views when the watch was requested
	held    map[*view]bool // views that hold back events of this watch
	last    bool           // the watch has ended with an error
}

// maxFrame is the maximum length of an event. It is larger than any event of an API server.
const maxFrame = 64 << 20

// newFrames returns the response to a watch as a reader of events. A response in an unknown encoding
// is forwarded unchanged, and its events are not counted.
func (p *Proxy) newFrames(response *http.Response, x *exchange) io.ReadCloser {
	contentType := response.Header.Get("Content-Type")
	if x.ContentType == "" {
		x.ContentType = contentType
	}
	form, ok := forms[formOf(contentType)]
	if !ok || response.Header.Get("Content-Encoding") != "" {
		x.begun()
		return response.Body
	}
	f := &frames{p: p, x: x, ctx: response.Request.Context(), body: response.Body, form: form, epoch: x.epoch, come: make(chan frame, 16), ended: make(chan struct{}), held: map[*view]bool{}}
	f.about = subjectOf(x)
	f.end = sync.OnceFunc(func() {
		p.watches.remove(f)
		close(f.ended)
	})
	p.views.sees(f.watcher())
	f.begin()
	if !f.initial {
		x.begun()
	}
	p.watches.add(f)
	go f.receive(form.reader(response.Body))
	return f
}

func formOf(contentType string) string {
	bare, _, _ := strings.Cut(contentType, ";")
	return bare
}

// begin determines the version at which the watch begins.
func (f *frames) begin() {
	query := f.x.to.Query()
	asked := resourceclient.Revision(query.Get("resourceVersion"))
	switch {
	case query.Get("sendInitialEvents") == "true" && query.Get("allowWatchBookmarks") == "true":
		f.initial = true
	case asked == 0:
		f.start = f.p.revision(f.ctx)
		f.reached.Store(f.start)
	default:
		f.start = asked
		f.reached.Store(asked)
		if f.p.views.compacted(f.x.Resource, asked) {
			f.expire(false)
		}
	}
}

// receive reads the server's events until the watch ends or no client reads it.
func (f *frames) receive(next func() ([]byte, error)) {
	for {
		raw, err := next()
		one := frame{raw: raw, err: err}
		if err == nil {
			f.form.read(&one)
			f.p.clock.saw(one.version)
		}
		select {
		case f.come <- one:
		case <-f.ended:
			return
		}
		if err != nil {
			return
		}
	}
}

// Close implements io.Closer.
func (f *frames) Close() error {
	f.end()
	return f.body.Close()
}

// Read returns the rest of an event, or the next one.
func (f *frames) Read(p []byte) (int, error) {
	for len(f.ready) == 0 {
		if err := f.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

// advance shows an event if one may be shown. Otherwise it waits for an event or for a change of the
// views.
func (f *frames) advance() error {
	if f.last {
		return io.EOF
	}
	var head frame
	if len(f.queue) > 0 {
		head = f.queue[0]
	}
	by, epoch, changed := f.p.views.in(f.x.Resource, f.x.Instance, head.version)
	if f.lost(epoch) {
		return nil
	}
	if len(f.queue) > 0 && (len(by) == 0 || f.initial || head.version <= f.start) {
		return f.show(head)
	}
	for _, each := range by {
		f.held[each] = true
	}
	if f.over != nil && len(f.queue) == 0 {
		return f.over
	}
	return f.wait(changed)
}

// wait receives the next event, or returns when the views have changed.
func (f *frames) wait(changed <-chan struct{}) error {
	come := f.come
	if f.over != nil {
		come = nil
	}
	select {
	case one := <-come:
		if one.err != nil {
			f.broke(one.err)
			return nil
		}
		f.queue = append(f.queue, one)
	case <-changed:
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
	return nil
}

// show sends an event to the operator, unless a fault that it triggers holds it back.
func (f *frames) show(one frame) error {
	if err := f.struck(&f.queue[0]); err != nil {
		return err
	}
	if by, epoch, _ := f.p.views.in(f.x.Resource, f.x.Instance, one.version); epoch != f.epoch || len(by) > 0 && !f.initial && one.version > f.start {
		return nil
	}
	f.queue = f.queue[1:]
	f.ready = one.raw
	f.x.Events++
	if one.ends {
		f.initial, f.start = false, one.version
	}
	if !f.initial {
		f.reached.Store(max(f.reached.Load(), one.version))
		f.x.begun()
	}
	return nil
}

// struck executes the faults that an event triggers, once per event.
func (f *frames) struck(one *frame) error {
	for _, cut := range f.x.faults {
		if cut.Kind == fault.CutWatch && f.x.Events >= cut.Events {
			return errCut
		}
	}
	if one.counted || f.initial || one.version <= f.start || !one.tells() || !f.p.options.Script.Watches() {
		return nil
	}
	one.counted = true
	if !f.p.clock.first(change{one.version, one.kind}) {
		return nil
	}
	of := f.x.Request
	of.Namespace, of.Name = one.meta.Namespace, one.meta.Name
	before := func(context.Context, *exchange) uint64 { return one.version - 1 }
	for _, fault := range f.p.options.Script.Event(of, one.kind) {
		f.x.struckBy(fault.String())
		if _, _, _, err := f.p.happen(f.ctx, f.x, fault, before); err != nil {
			return err
		}
	}
	return nil
}

// lost ends the watch if its position in the history is no longer valid: a fault ended
// the watches, or discarded the held events.
func (f *frames) lost(epoch int) bool {
	if epoch != f.epoch {
		f.expire(true)
		return true
	}
	for each := range f.held {
		f.p.views.mu.Lock()
		over := each.over
		f.p.views.mu.Unlock()
		if !over {
			continue
		}
		delete(f.held, each)
		if each.fault.Kind == fault.Skip && slices.ContainsFunc(f.queue, frame.tells) {
			f.expire(true)
			return true
		}
	}
	return false
}

// expire ends the watch as the API server does when the next events are no longer available. If forget is true, the
// held events are discarded permanently.
func (f *frames) expire(forget bool) {
	newest := f.start
	for _, one := range f.queue {
		newest = max(newest, one.version)
	}
	if forget && len(f.queue) > 0 {
		f.p.views.compact(f.x.Resource, newest)
	}
	f.queue = nil
	f.ready, f.last = f.form.gone(f.start, newest), true
	f.p.views.blinds(f.watcher())
}

func (f *frames) watcher() watcher {
	query := f.x.to.Query()
	return watcher{f.x.Resource, f.x.Namespace, query.Get("labelSelector"), query.Get("fieldSelector"), f.x.Instance}
}

// broke records why a watch ended, unless the server or the operator ended it.
func (f *frames) broke(err error) {
	f.over = err
	if !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		f.x.Error = err.Error()
	}
}

// lines reads events in JSON.
func lines(from io.Reader) func() ([]byte, error) {
	decoder := json.NewDecoder(from)
	return func() ([]byte, error) {
		var event json.RawMessage
		if err := decoder.Decode(&event); err != nil {
			return nil, err
		}
		return append(event, '\n'), nil
	}
}

// counted reads events that are preceded by their length in four bytes.
func counted(from io.Reader) func() ([]byte, error) {
	reader := bufio.NewReader(from)
	return func() ([]byte, error) {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(reader, frame); err != nil {
			return nil, err
		}
		length := binary.BigEndian.Uint32(frame)
		if length > maxFrame {
			return nil, errTooLong
		}
		frame = append(frame, make([]byte, length)...)
		_, err := io.ReadFull(reader, frame[4:])
		return frame, err
	}
}

// forms are the supported encodings of watches.
var forms = map[string]form{
	runtime.ContentTypeJSON:     {reader: lines, open: openJSON, close: closeJSON},
	runtime.ContentTypeProtobuf: {reader: counted, open: openProtobuf, close: closeProtobuf},
}
