package sharddrill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		writes, err := Read(file)
		switch {
		case want == "" && (err != nil || len(writes) != 1 || writes[0].Revision != 7):
			t.Errorf("read is %+v: %v", writes, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("of\n%s is said %v, want %s", text, err, want)
		}
	}
}
