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

// The failures of the requests that failed most often since their last success count, and only those that faults caused.
func TestFailed(t *testing.T) {
	t.Parallel()
	began := time.Now()
	one := func(after int, verb, path, fault string, status int) requestlog.Request {
		return requestlog.Request{At: began.Add(time.Duration(after) * time.Second), Verb: verb, Resource: "boxes", Path: path, Fault: fault, Status: status}
	}
	requests := []requestlog.Request{
		one(-1, "patch", "/a", "f", 500),                               // before
		one(1, "patch", "/a", "f", 401), one(3, "patch", "/a", "f", 0), // the second was cut
		one(1, "update", "/b", "f", 409), one(9, "update", "/b", "f", 409), one(10, "update", "/b", "f", 409), one(11, "update", "/b", "", 200),
		one(1, "get", "/c", "", 404), one(2, "get", "/c", "", 404), one(3, "get", "/c", "", 404), // no fault
		one(1, "patch", "/d", "f", 200), one(2, "patch", "/d", "f", 200), one(3, "patch", "/d", "f", 200), // delayed only
		one(1, "create", "/e", "f", 401),
	}
	requests[len(requests)-1].Resource = "events"
	check := func(inARow int, apart time.Duration) {
		t.Helper()
		if got := requestlog.Failed(requests, began); got.InARow != inARow || got.Apart != apart {
			t.Errorf("%d failures in a row, %s apart, want %d and %s", got.InARow, got.Apart, inARow, apart)
		}
	}
	check(2, 2*time.Second)
	requests = append(requests, one(12, "update", "/b", "f", 500), one(13, "update", "/b", "f", 500), one(14, "update", "/b", "f", 500))
	check(3, 2*time.Second)
	requests = append(requests, one(20, "update", "/b", "f", 500))
	check(4, 6*time.Second)
}
