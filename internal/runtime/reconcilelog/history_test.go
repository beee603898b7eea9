package reconcilelog

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/trigger"
)

var boxes = schema.GroupVersionKind{Group: "test.operon.dev", Version: "v1", Kind: "Box"}

func newStore(kinds ...schema.GroupVersionKind) *Store {
	s := NewStore(Operator{Name: "box-operator"})
	for _, kind := range kinds {
		s.Manages(kind)
	}
	return s
}

// passOf returns a pass that wrote something, so that it is not equal to any other.
func passOf(n int) Pass {
	return Pass{
		Started: time.Unix(int64(n), 0), Writes: 1, Outcome: "done", Steps: make([]Step, 11),
		Gathered: trigger.Gathered{Causes: []trigger.Cause{{Kind: trigger.ChildChanged, Object: trigger.Object{Kind: "ConfigMap", Name: fmt.Sprint(n)}}}},
		Actions:  []Action{{Verb: "update", Object: trigger.Object{Kind: "ConfigMap", Name: fmt.Sprint(n)}}},
	}
}

func TestStoreIsBounded(t *testing.T) {
	s := newStore(boxes)
	before := heap()
	for n := range 100 * InAll {
		s.Add(boxes.GroupKind(), "default", fmt.Sprint("box-", n%(2*InAll)), passOf(n))
	}
	if s.passes != InAll || s.recent.Len() != len(s.held) {
		t.Errorf("%d passes are held, of %d objects in %d places", s.passes, len(s.held), s.recent.Len())
	}
	if grown := heap() - before; grown > 6<<20 {
		t.Errorf("it holds %d kB", grown>>10)
	} else {
		t.Logf("%d passes are %d kB", s.passes, grown>>10)
	}
	runtime.KeepAlive(s)
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestNewestPassesAreKept(t *testing.T) {
	t.Parallel()
	s := newStore(boxes)
	for n := range 2 * PerObject {
		s.Add(boxes.GroupKind(), "default", "one", passOf(n))
	}
	of := key{boxes.GroupKind(), "default", "one"}
	object, ok := s.object(of)
	if !ok || len(object.Passes) != PerObject || object.Passes[0].Started.Unix() != 2*PerObject-1 {
		t.Errorf("kept are %+v", object)
	}
	for n := range 3 * PerObject { // quiet ones that differ
		s.Add(boxes.GroupKind(), "default", "two", Pass{Outcome: "wait", Message: fmt.Sprint(n), Started: time.Unix(int64(n), 0)})
		if n == 0 {
			s.Add(boxes.GroupKind(), "default", "two", passOf(n))
		}
	}
	two, _ := s.object(key{boxes.GroupKind(), "default", "two"})
	if last := two.Passes[PerObject-1]; len(last.Actions) != 1 || two.Passes[0].Started.Unix() != 3*PerObject-1 {
		t.Errorf("what was done is forgotten: %+v", two.Passes)
	}
	retry := Pass{Outcome: "retry", Reason: "ReconcileFailed"}
	for range 5 {
		s.Add(boxes.GroupKind(), "default", "one", retry)
	}
	object, _ = s.object(of)
	if object.Passes[0].Repeats != 4 || object.Passes[1].Started.Unix() != 2*PerObject-1 {
		t.Errorf("repeats push others out: %+v", object.Passes[:2])
	}
	if s.passes != 2*PerObject {
		t.Errorf("%d passes are counted", s.passes)
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	other := boxes
	other.Group, other.Kind = "other.operon.dev", "Crate"
	twin := other
	twin.Group = "third.operon.dev"
	s := newStore(boxes, other, twin)
	s.Add(boxes.GroupKind(), "default", "one", passOf(1))
	s.Add(boxes.GroupKind(), "", "wide", passOf(1))
	mux := http.NewServeMux()
	s.Serve(mux)
	for _, test := range []struct {
		path, peer, host string
		status           int
		text             string
	}{
		{Path, "", "", 200, `"name":"box-operator"`},
		{Path + "/objects/box/default/one", "", "", 200, `"verb":"update"`},
		{Path + "/objects/Box.test.operon.dev/-/wide", "", "localhost:1", 200, `"name":"wide"`},
		{Path + "/objects/box/default/two", "", "", 404, "no reconcile of Box two is known"},
		{Path + "/objects/bix/default/one", "", "", 404, "does not manage the kind bix, but Box, Crate"},
		{Path + "/objects/crate/default/one", "", "", 404, "several groups"},
		{Path, "192.0.2.1:1", "", 403, "loopback"},
		{Path, "[::1]:1", "[::1]:8081", 200, ""},
		{Path, "", "evil.example.com", 403, "loopback"},
	} {
		request := httptest.NewRequest(http.MethodGet, test.path, nil)
		request.RemoteAddr, request.Host = "127.0.0.1:1", "127.0.0.1:8081"
		if test.peer != "" {
			request.RemoteAddr = test.peer
		}
		if test.host != "" {
			request.Host = test.host
		}
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, request)
		if answer.Code != test.status || !strings.Contains(answer.Body.String(), test.text) || !json.Valid(answer.Body.Bytes()) {
			t.Errorf("%s from %s as %s: %d %s", test.path, request.RemoteAddr, request.Host, answer.Code, answer.Body)
		}
	}
}

func TestClientAsks(t *testing.T) {
	t.Parallel()
	s := newStore(boxes)
	s.Add(boxes.GroupKind(), "", "wide", passOf(1))
	mux := http.NewServeMux()
	s.Serve(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	address := server.Listener.Addr().String()
	if operator, err := AskOperator(t.Context(), address); err != nil || operator.Name != "box-operator" {
		t.Errorf("operator %+v, error %v", operator, err)
	}
	if object, err := AskObject(t.Context(), address, "Box", "", "wide"); err != nil || object.Passes[0].Outcome != "done" {
		t.Errorf("object %+v, error %v", object, err)
	}
	var refused *Refused
	if _, err := AskObject(t.Context(), address, "Box", "", "other"); err == nil || !strings.Contains(err.Error(), "is known") || !errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
	server.Close()
	if _, err := AskOperator(t.Context(), address); err == nil || strings.Contains(err.Error(), "http://") {
		t.Errorf("error %v", err)
	}
}
