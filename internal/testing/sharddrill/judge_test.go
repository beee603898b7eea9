package sharddrill

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// log parses writes such as "5 a b": a and b hold the two slots from revision 5 on, or "6 a:x": a wrote x, in slot 0; "7 :x 2":
// another client wrote generation 2 of x ("7 :x 2 1": of which generation 1 was handled); "8 a:x/status 2": a handled
// generation 2.
func log(t *testing.T, text string) []Write {
	t.Helper()
	var writes []Write
	for line := range strings.SplitSeq(text, ";") {
		fields := strings.Fields(line)
		w := Write{Revision: uint64(len(writes) + 1), At: time.Unix(int64(len(writes)), 0), Verb: "patch"}
		who, object, written := strings.Cut(fields[0], ":")
		if !written {
			w.Table = &shardtable.Table{Holders: fields}
			writes = append(writes, w)
			continue
		}
		w.Replica, w.Owner = who, inSlot(0)
		w.Object, w.Status = strings.CutSuffix("boxes "+object, "/status")
		if len(fields) > 1 && w.Status {
			w.Observed = int64(fields[1][0] - '0')
		}
		if len(fields) > 1 && !w.Status {
			w.Generation = int64(fields[1][0] - '0')
		}
		if len(fields) > 2 {
			w.Observed = int64(fields[2][0] - '0')
		}
		writes = append(writes, w)
	}
	return writes
}

// inSlot returns the UID of an object in one of two slots.
func inSlot(slot int) types.UID {
	for name := 'a'; ; name++ {
		if uid := types.UID(name); shardtable.New(2).SlotOf(uid) == slot {
			return uid
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log                string
		two, late, starved int
	}{
		"one after the other":                       {log: "a-1 b-1; a:x; b-1 b-1; b:x"},
		"back again":                                {log: "a-1 b-1; a:x; b-1 b-1; b:x; a-1 b-1; a:x"},
		"in another life":                           {log: "a-1 b-1; a:x; a-2 b-1; a:x"},
		"late, before the new owner":                {log: "a-1 b-1; a:x; b-1 b-1; a:x; b:x", late: 1},
		"late twice":                                {log: "a-1 b-1; a:x; b-1 b-1; a:x; a:x", late: 1, two: 1},
		"late after each of two losses":             {log: "a-1 b-1; b-1 b-1; a:x; a-1 b-1; a:x; b-1 b-1; a:x", late: 2},
		"late, of another object":                   {log: "a-1 b-1; b-1 b-1; b:x; a:y", late: 1},
		"after the new owner":                       {log: "a-1 b-1; a:x; b-1 b-1; b:x; a:x", two: 1},
		"after an owner in between":                 {log: "a-1 b-1; a:x; b-1 b-1; b:x; c-1 b-1; a:x", two: 1},
		"never its own":                             {log: "a-1 b-1; c:x", two: 1},
		"before there was a table":                  {log: "a:x; a-1 b-1", two: 1},
		"a name that begins alike":                  {log: "a-b-1 b-1; a:x", two: 1},
		"seen to":                                   {log: "a-1 b-1; :x 2; a:x/status 2"},
		"seen to with a later one":                  {log: "a-1 b-1; :x 2; :x 3; a:x/status 3"},
		"never seen to":                             {log: "a-1 b-1; :x 2; a:x/status 1", starved: 1},
		"seen to late":                              {log: "a-1 b-1; :x 2; a:y; a:y; a:y; a:y; a:x/status 2", starved: 1},
		"many changes do not hide hunger":           {log: "a-1 b-1; :x 2; :x 3; :x 4; :x 5; :x 6; a:x/status 6", starved: 1},
		"seen to by a write that is not in the log": {log: "a-1 b-1; a:x/status 1; :x 2 1; :x 3 2; a:x/status 3"},
		"a write that changes nothing to see to":    {log: "a-1 b-1; :x 2; a:x/status 2; :x 2 2"},
		"not seen to before the next change":        {log: "a-1 b-1; a:x/status 1; :x 2 1; :x 3 1", starved: 1},
		"what nobody sees to is no business":        {log: "a-1 b-1; :x 2; a:x"},
		"what others write is no business":          {log: "a-1 b-1; b-1 b-1; b:x; :x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := Judge(log(t, c.log), 3*time.Second)
			if len(v.Two) != c.two || len(v.Late) != c.late || len(v.Starved) != c.starved {
				t.Errorf("want %d by two owners, %d late, %d starved, and the verdict is\n%s", c.two, c.late, c.starved, v)
			}
		})
	}
}
