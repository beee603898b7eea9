package reconcilelog

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/trigger"
)

func TestAPassIsKeptInBoundedMemory(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256<<10)
	pass := Pass{Message: long, Error: long, Back: &Back{For: trigger.Cause{Note: long}}}
	for range 5000 {
		pass.Actions = append(pass.Actions, Action{Verb: "create", Why: long, Error: long})
	}
	store := NewStore(Operator{Name: "test"})
	kind := schema.GroupKind{Kind: "Box"}
	store.Add(kind, "default", "a", pass)
	kept, ok := store.object(key{kind, "default", "a"})
	if !ok {
		t.Fatal("nothing is kept")
	}
	text, err := json.Marshal(kept)
	if limit := 4 * maxActions * maxText; err != nil || len(text) > limit {
		t.Errorf("%d bytes are kept, want at most %d (%v)", len(text), limit, err)
	}
	if len(pass.Actions[0].Why) != len(long) || pass.Back.For.Note != long {
		t.Error("the caller's pass was changed")
	}
}
