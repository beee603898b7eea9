package requestlog_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

func TestLogIsBoundedAndWritesAll(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	log := requestlog.NewLog(3, &lines)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	var all []requestlog.Request
	for range 5 {
		all = append(all, requestlog.Request{Seq: log.Number(), At: at, Took: time.Second, Verb: "get", Path: "/x", Status: 200})
	}
	for _, i := range []int{1, 0, 2, 4, 3} { // they end in another order
		log.Add(all[i])
	}
	if got := log.Requests(); !reflect.DeepEqual(got, all[2:]) || log.Dropped() != 2 {
		t.Errorf("kept %+v, dropped %d", got, log.Dropped())
	}
	got, err := requestlog.Read(strings.NewReader(lines.String() + `{"seq": 6, "ver`))
	if err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("read %+v, %v", got, err)
	}
	if log.Err() != nil {
		t.Error(log.Err())
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"":                                    "line 1 is not that of a record",
		`{"format":"operon-record/9"}` + "\n": `has the format "operon-record/9"`,
		`{"format":"operon-record/1"}` + "\n{}\nnonsense\n": "line 3 of the record",
	} {
		if _, err := requestlog.Read(strings.NewReader(lines)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", lines, err, want)
		}
	}
}

type full struct{ writes int }

func (f *full) Write([]byte) (int, error) { f.writes++; return 0, errors.New("disk full") }

func TestLogKeepsTheWritersFirstError(t *testing.T) {
	t.Parallel()
	disk := &full{}
	log := requestlog.NewLog(0, disk)
	log.Add(requestlog.Request{Seq: 1})
	if log.Err() == nil || disk.writes != 1 || len(log.Requests()) != 1 {
		t.Errorf("%v after %d writes, %d kept", log.Err(), disk.writes, len(log.Requests()))
	}
}
