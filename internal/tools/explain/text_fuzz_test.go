package explain_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/operon-framework/operon/internal/tools/explain"
)

// FuzzText prints the answer of an operator, which may be another program at its port.
func FuzzText(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"passes":[{}],"ready":{"status":"False"},"conditions":[{"type":"A","message":"\n\u001b[2J"}]}`, `{"passes":[{"actions":[{}],"steps":[{}],"causes":["a"]}],"events":[{"count":-1}]}`,
		`{"now":"9999-12-31T23:59:59Z","generation":-1,"deleting":true,"paused":true}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var answer explain.Answer
		if json.Unmarshal(body, &answer) != nil {
			return
		}
		var out bytes.Buffer
		if err := answer.Text(&out); err != nil || bytes.ContainsAny(out.Bytes(), "\x1b\r\a") {
			t.Errorf("%q, %v", out.String(), err)
		}
	})
}
