package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// seen is what a run knows of an object or list.
type seen struct {
	// state is what the run read or wrote.
	state state
	// reader is the task that read the state, or 0 if the run wrote it.
	reader int
	// withStatus means that a task may have used the status.
	withStatus bool
	// unknown means that the state after a write was not in the response.
	unknown bool
	// torn means that two tasks read different states, and the run changed nothing in between.
	torn bool
}

// observe records a response. The response can still be read.
func (a *access) observe(response *http.Response) error {
	found := response.StatusCode < 300
	if !found && response.StatusCode != http.StatusNotFound {
		a.session.miss()
		return nil
	}
	body, err := bodyOf(response)
	if err != nil {
		return err
	}
	if body == nil {
		a.session.opens("a response in the format " + response.Header.Get("Content-Type"))
		return nil
	}
	if err := a.record(response.Request.Context(), body, found); err != nil {
		a.session.opens(fmt.Sprintf("%s was not recorded: %v", Place(a.key.object()), err))
	}
	return nil
}

// bodyOf reads the body of a response, and replaces it by one that can be read again. It returns nil if it is not JSON.
func bodyOf(response *http.Response) ([]byte, error) {
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return nil, nil //nolint:nilerr // another format
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return body, nil
}

// record records the body of a response.
func (a *access) record(ctx context.Context, body []byte, found bool) error {
	switch a.does {
	case reads, readsListed:
		return a.recordRead(ctx, body, found)
	case rehearses:
		object := &metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(body, object); err != nil || !found || object.GenerateName != "" {
			return err // the object of a generated name cannot exist
		}
		a.key.name = object.Name
		return a.recordRead(ctx, nil, true)
	case deletes:
		if found { // it may have finalizers
			a.wrote(nil)
			return nil
		}
		a.read(state{})
	case creates, writes:
		if found {
			return a.recordWrite(body)
		}
	}
	return nil
}

// recordRead records what a task read. A response that is not the whole object or list, such as a table for kubectl, is not
// what is stored, which is then read here.
func (a *access) recordRead(ctx context.Context, body []byte, found bool) error {
	if !found {
		a.read(state{})
		return nil
	}
	now, ok := a.decode(body)
	if !ok {
		var err error
		if now, err = a.session.proxy.live(ctx, a.session.Owner, a.key); err != nil {
			return err
		}
	}
	a.read(now)
	return nil
}

// decode returns the state that the body of a response to a read has.
func (a *access) decode(body []byte) (state, bool) {
	if !a.whole {
		return state{}, false
	}
	if a.key.name != "" && a.does == reads {
		object, ok := a.decodeObject(body)
		return a.session.Owner.stateOf(object), ok
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(body, &list); err != nil || !strings.HasSuffix(list.Kind, "List") || list.Continue != "" {
		return state{}, false
	}
	switch {
	case a.does != readsListed:
		return stateOfList(list.Items), true
	case len(list.Items) == 0:
		return state{}, true
	}
	return a.session.Owner.stateOf(&list.Items[0]), true
}

// decodeObject returns the object that the body of a response has, unless it has something else.
func (a *access) decodeObject(body []byte) (*metav1.PartialObjectMetadata, bool) {
	object := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(body, object); err != nil || object.Name == "" || a.key.name != "" && a.key.name != object.Name {
		return nil, false
	}
	return object, object.Kind == a.key.kind.Kind || object.Kind == "PartialObjectMetadata"
}

// recordWrite records what a task wrote.
func (a *access) recordWrite(body []byte) error {
	object, ok := a.decodeObject(body)
	if a.does == writes {
		if !a.whole || !ok {
			object = nil
		}
		a.wrote(object)
		return nil
	}
	if !ok {
		return fmt.Errorf("the API server created an object without a name")
	}
	a.key.name = object.Name
	a.wrote(object)
	s := a.session
	if !s.Owner.reaches(a.key.namespace) {
		s.mu.Lock()
		s.beyond = append(s.beyond, fmt.Sprintf("%s %s", a.key.kind.Kind, encodedOwner(a.key.namespace, object.Name)))
		s.mu.Unlock()
	}
	return nil
}

// read records a state that a task read. A task that reads an object only in order to change it does not replace the state that
// an earlier task used with its status.
func (a *access) read(now state) {
	s := a.session
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entry(a.key)
	if e.reader != 0 && e.reader != a.task {
		both := e.withStatus && a.withStatus
		e.torn = e.torn || e.state.version(both) != now.version(both)
	}
	if e.withStatus && !a.withStatus {
		return
	}
	e.state, e.reader, e.withStatus, e.unknown = now, a.task, a.withStatus, false
}

// wrote records what a task wrote: an object, or nil if the response does not show it.
func (a *access) wrote(object *metav1.PartialObjectMetadata) {
	s := a.session
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entry(a.key)
	e.reader, e.unknown = 0, object == nil
	if object != nil {
		e.state = s.Owner.stateOf(object)
	}
}

func (s *Session) entry(key objectKey) *seen {
	e := s.objects[key]
	if e == nil {
		e = &seen{}
		s.objects[key] = e
	}
	return e
}
