package proxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/prove/fault"
)

// frames is the answer to a watch, event by event.
type frames struct {
	io.Closer
	x     *exchange
	next  func() ([]byte, error)
	ready []byte
}

// maxFrame is beyond the longest event.
const maxFrame = 64 << 20

// newFrames returns the answer to a watch so that it is read by events. One in an encoding that
// is not known passes as it is, its events uncounted.
func newFrames(response *http.Response, x *exchange) io.ReadCloser {
	contentType := response.Header.Get("Content-Type")
	if x.ContentType == "" {
		x.ContentType = contentType
	}
	f := &frames{Closer: response.Body, x: x}
	switch {
	case response.Header.Get("Content-Encoding") != "":
		return response.Body
	case strings.HasPrefix(contentType, runtime.ContentTypeJSON):
		f.next = lines(response.Body)
	case strings.HasPrefix(contentType, runtime.ContentTypeProtobuf):
		f.next = counted(response.Body)
	default:
		return response.Body
	}
	return f
}

// Read gives what is left of an event, or the next one.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.ready) == 0 {
		if cut := f.x.fault; cut != nil && cut.Kind == fault.CutWatch && f.x.Events >= cut.Events {
			return 0, errCut
		}
		frame, err := f.next()
		if err != nil {
			f.broke(err)
			return 0, err
		}
		f.ready = frame
		f.x.Events++
	}
	n := copy(p, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

// broke notes why a watch ended, unless the server or the operator ended it.
func (f *frames) broke(err error) {
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

// counted reads events that have their length before them, as four bytes.
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
