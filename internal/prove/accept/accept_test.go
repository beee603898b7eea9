package accept_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/prove/accept"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/workload"
)

const file = `# known findings
accepted:
- property: same-fresh
  kind: StatefulSet
  message: "a change of storage leads to another state"
  reason: claim templates are immutable
- property: silent
  message: it polls
  reason: the API of the device has no events
`

func TestMark(t *testing.T) {
	t.Parallel()
	list, err := accept.Parse("accepted.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	findings := []finding.Finding{
		{Property: finding.SameFresh, Message: "a change of storage leads to another state", Of: &workload.Ref{Kind: "StatefulSet"}},
		{Property: finding.SameFresh, Message: "a change of storage leads to another state", Of: &workload.Ref{Kind: "Service"}},
		{Property: finding.SameState, Message: "it polls"},
	}
	list.Mark(findings)
	var reasons []string
	for i := range findings {
		reasons = append(reasons, findings[i].Accepted)
	}
	if want := []string{"claim templates are immutable", "", ""}; !reflect.DeepEqual(reasons, want) {
		t.Errorf("accepted %q, want %q", reasons, want)
	}
	if want := []string{"accepted.yaml:7 accepts a finding of silent that did not occur: it polls"}; !reflect.DeepEqual(list.Unseen(), want) {
		t.Errorf("unseen %q, want %q", list.Unseen(), want)
	}
	var none *accept.List
	none.Mark(findings)
	if none.Unseen() != nil {
		t.Error("a list that does not exist has entries")
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":              "lists nothing",
		"accepted: []":  "lists nothing",
		"acepted: []":   "acepted",
		"accepted: [":   "line 1",
		"accepted: [x]": "f.yaml:1: want a finding",
		"accepted:\n- {property: nice, message: a, reason: b}":              `f.yaml:2: property: "nice" is not a property`,
		"accepted:\n- {property: silent, reason: b}":                        "f.yaml:2: message: missing",
		"accepted:\n- {property: silent, message: a}":                       "f.yaml:2: reason: missing",
		"accepted:\n- {property: silent, message: [a], reason: b}":          "message: want a text",
		"accepted:\n- {property: silent, message: a, reason: b, since: v1}": `unknown field "since"`,
	} {
		if _, err := accept.Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "accepted.yaml")
	if _, err := accept.Read(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "accepted findings") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := accept.Read(path); err != nil || len(list.Unseen()) != 2 {
		t.Errorf("%v, error %v", list, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(file))
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := accept.Parse("f.yaml", content)
		if err == nil && len(list.Unseen()) == 0 {
			t.Error("a list without entries and without an error")
		}
	})
}
