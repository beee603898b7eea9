package requestlog

import (
	"testing"
	"time"
)

// Requests that repeat at a moderate rate throughout the window are a rhythm. If anything else happens, there is no rhythm.
func TestLearnRhythm(t *testing.T) {
	t.Parallel()
	began := time.Now()
	every := func(pause time.Duration, r Request) []Request {
		var all []Request
		for at := 100 * time.Millisecond; at < 5*time.Second; at += pause {
			r.At = began.Add(at)
			all = append(all, r)
		}
		return all
	}
	clock := Request{Verb: "update", Resource: "boxes", Subresource: "status", Name: "a", Effect: Changed, After: "7"}
	look := Request{Verb: "get", Resource: "pods", Name: "p"}
	once := Request{Verb: "get", Resource: "nodes", Name: "n", At: began.Add(4 * time.Second)}
	for name, c := range map[string]struct {
		requests []Request
		versions []string
		want     string
	}{
		"a clock":                          {every(time.Second, clock), []string{"7"}, "update boxes/status every 1s"},
		"reads of two objects":             {append(every(time.Second, look), every(2*time.Second, Request{Verb: "get", Resource: "pods", Name: "q"})...), nil, "get pods every 1s"},
		"both":                             {append(every(time.Second, clock), every(500*time.Millisecond, look)...), []string{"7"}, "update boxes/status every 1s, get pods every 500ms"},
		"with a lease":                     {append(every(time.Second, look), Request{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", At: began}), nil, "get pods every 1s"},
		"nothing":                          {nil, nil, ""},
		"before the window":                {append(every(time.Second, look), Request{Verb: "get", Resource: "nodes", At: began.Add(-time.Second)}), nil, "get pods every 1s"},
		"something else was changed":       {every(time.Second, clock), []string{"7", "8"}, ""},
		"something else was requested":     {append(every(time.Second, look), once), nil, ""},
		"too fast":                         {every(100*time.Millisecond, look), nil, ""},
		"only at the end":                  {every(400*time.Millisecond, look)[8:], nil, ""},
		"only at the beginning":            {every(400*time.Millisecond, look)[:5], nil, ""},
		"it creates more and more":         {every(time.Second, Request{Verb: "create", Resource: "pods", Effect: Changed}), nil, ""},
		"it tries in vain to create":       {every(time.Second, Request{Verb: "create", Resource: "pods", Effect: Unchanged}), nil, "create pods every 1s"},
		"it deletes what others bring":     {every(time.Second, Request{Verb: "delete", Resource: "pods", Name: "p", Effect: Changed}), nil, ""},
		"it looks at a different one each": {[]Request{{Verb: "get", Resource: "pods", Name: "a", At: began}, {Verb: "get", Resource: "pods", Name: "b", At: began}, {Verb: "get", Resource: "pods", Name: "c", At: began}}, nil, ""},
	} {
		got := LearnRhythm(c.requests, c.versions, began, began.Add(5*time.Second), 1)
		if got.String() != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := LearnRhythm(every(time.Second, look), nil, began, began.Add(5*time.Second), 8); got != nil {
		t.Errorf("on a cluster that is slow, what may be a hot loop is a rhythm: %s", got)
	}
}

// Only requests outside of an operator's rhythm break its silence.
func TestRhythm(t *testing.T) {
	t.Parallel()
	began := time.Now()
	rhythm := Rhythm{{Verb: "get", Resource: "pods"}}.And(Rhythm{{Verb: "get", Resource: "pods"}, {Verb: "update", Resource: "boxes", Subresource: "status"}})
	if len(rhythm) != 2 || rhythm.Reads() || !rhythm[:1].Reads() || (Rhythm{}).Reads() {
		t.Errorf("%s: %v", rhythm, rhythm.Reads())
	}
	requests := []Request{
		{Verb: "create", Resource: "pods", Effect: Changed, After: "1", At: began},
		{Verb: "update", Resource: "boxes", Subresource: "status", Effect: Changed, After: "2", At: began.Add(time.Second)},
		{Verb: "get", Resource: "pods", At: began.Add(2 * time.Second)},
	}
	if made := rhythm.Made(requests); len(made) != 1 || !made["2"] {
		t.Errorf("made %v", made)
	}
	if last := rhythm.Last(requests); !last.Equal(began) {
		t.Errorf("the last was %s later", last.Sub(began))
	}
	requests[1].Fault = "conflict"
	if last := rhythm.Last(requests); !last.Equal(began.Add(time.Second)) {
		t.Errorf("a request with a fault is of the rhythm: the last was %s later", last.Sub(began))
	}
}
