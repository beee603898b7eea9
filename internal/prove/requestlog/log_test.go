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
