package requestlog_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	log := requestlog.NewLog(3)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	var all []requestlog.Request
	for range 5 {
		all = append(all, requestlog.Request{Seq: log.Number(), At: at, Took: time.Second, Verb: "get", Path: "/x", Status: 200})
	}
	for _, i := range []int{1, 0, 2, 4, 3} { // they end in a different order
		log.Add(all[i])
	}
	if got := log.Requests(); !reflect.DeepEqual(got, all[2:]) || log.Dropped() != 2 || log.Ended() != 5 {
		t.Errorf("kept %+v, dropped %d, ended %d", got, log.Dropped(), log.Ended())
	}
}

// The failures of the request that failed most often since its last success count, and only those that faults caused.
func TestFailed(t *testing.T) {
	t.Parallel()
	began := time.Now()
	one := func(verb, path, fault string, status int) requestlog.Request {
		return requestlog.Request{At: began.Add(time.Second), Verb: verb, Resource: "boxes", Path: path, Fault: fault, Status: status}
	}
	requests := []requestlog.Request{
		{At: began.Add(-time.Second), Verb: "patch", Resource: "boxes", Path: "/a", Fault: "f", Status: 500}, // before
		one("patch", "/a", "f", 401), one("patch", "/a", "f", 0), // the second was cut
		one("update", "/b", "f", 409), one("update", "/b", "f", 409), one("update", "/b", "f", 409), one("update", "/b", "", 200),
		one("get", "/c", "", 404), one("get", "/c", "", 404), one("get", "/c", "", 404), // no fault
		one("patch", "/d", "f", 200), one("patch", "/d", "f", 200), one("patch", "/d", "f", 200), // delayed only
		{At: began.Add(time.Second), Verb: "create", Resource: "events", Path: "/e", Fault: "f", Status: 401},
	}
	if got := requestlog.Failed(requests, began); got != 2 {
		t.Errorf("%d failed attempts, want 2", got)
	}
	if got := requestlog.Failed(append(requests, one("update", "/b", "f", 500), one("update", "/b", "f", 500), one("update", "/b", "f", 500)), began); got != 3 {
		t.Errorf("%d failed attempts, want 3", got)
	}
}
