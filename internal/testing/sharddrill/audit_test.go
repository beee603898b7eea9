package sharddrill

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// A log that cannot be judged causes an error, and is not ignored.
func TestLogsThatProveNothing(t *testing.T) {
	t.Parallel()
	write := func(metadata string) string {
		return `{"verb":"patch","userAgent":"op/replica/a","objectRef":{"resource":"boxes","namespace":"ns","name":"one"},"responseStatus":{"code":200},"responseObject":{"metadata":{` + metadata + `}}}` + "\n"
	}
	for want, text := range map[string]string{
		"": write(`"uid":"u","resourceVersion":"7"`),
		`:2: patch boxes ns/one: its answer has the resourceVersion ""`:    write(`"resourceVersion":"7"`) + write(`"uid":"u"`),
		`:1: patch boxes ns/one: its answer has the resourceVersion "new"`: write(`"resourceVersion":"new"`),
		`:1: patch boxes ns/one: its answer has the resourceVersion "0"`:   write(`"resourceVersion":"0"`),
		":2: unexpected end of JSON input":                                 write(`"resourceVersion":"7"`) + "{\n",
		":1: line 1 is": `{"verb":"update","objectRef":{"resource":"leases","namespace":"ns","name":"op-shards"},"responseStatus":{"code":200},` +
			`"responseObject":{"metadata":{"resourceVersion":"7","annotations":{"operon.dev/shards":"nonsense"}}}}`,
	} {
		file := filepath.Join(t.TempDir(), "audit.log")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		writes, err := Read(file, nil)
		switch {
		case want == "" && (err != nil || len(writes) != 1 || writes[0].Revision != 7):
			t.Errorf("read is %+v: %v", writes, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("of\n%s is said %v, want %s", text, err, want)
		}
	}
}

// A table whose client did not wait for the response is in the record, but not in the log. A table in both counts once.
func TestTablesThatTheLogLacks(t *testing.T) {
	t.Parallel()
	table := func(code, revision, holder string) string {
		return fmt.Sprintf(`{"verb":"update","objectRef":{"resource":"leases","namespace":"ns","name":"op-shards"},"responseStatus":{"code":%s},`+
			`"responseObject":{"metadata":{"resourceVersion":%q,"annotations":{"operon.dev/shards":%q}}}}`, code, revision, (shardtable.Table{Holders: []string{holder, holder}}).String()) + "\n"
	}
	text := table("200", "7", "a-1") + table("504", "", "b-1") +
		`{"verb":"patch","userAgent":"op/replica/b","objectRef":{"resource":"boxes","namespace":"ns","name":"one"},"responseStatus":{"code":200},"responseObject":{"metadata":{"uid":"u","resourceVersion":"9"}}}` + "\n"
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	recorded := func(revision uint64, holder string) Write {
		return Write{Revision: revision, At: time.Now(), Object: "leases ns/op-shards", Table: &shardtable.Table{Holders: []string{holder, holder}}}
	}
	for name, c := range map[string]struct {
		tables         []Write
		two, handovers int
	}{
		"no record": {two: 1},
		"a record":  {tables: []Write{recorded(7, "a-1"), recorded(8, "b-1")}, handovers: 2},
	} {
		writes, err := Read(file, c.tables)
		if err != nil {
			t.Fatal(err)
		}
		if v := Judge(writes, time.Minute); len(v.Two) != c.two || v.Handovers != c.handovers {
			t.Errorf("%s: %s", name, v)
		}
	}
}
