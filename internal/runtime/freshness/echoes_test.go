package freshness

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func at(version string) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: version}}
}

func TestWhatOfAStatusIsNews(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// meanwhile are the versions that the watch shows before the response, which is 12. The write is based on 10.
		meanwhile []string
		want      bool
	}{
		{"nothing yet", nil, false},
		{"the answer", []string{"12"}, false},
		{"another writer's state", []string{"11"}, true},
		{"another writer's state and then the answer", []string{"11", "12"}, true},
		{"the answer and then another writer's state", []string{"12", "13"}, true},
		{"what was read, and what came before that", []string{"9", "10", "12"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := NewEchoes()
			write := e.Begin(at("10"))
			for _, version := range test.meanwhile {
				if !e.Is(at(version), false) {
					t.Errorf("%s was reported while the write was in flight", version)
				}
			}
			if got := write.Wrote(FormOf(at("12"))); got != test.want {
				t.Errorf("news is %v, want %v", got, test.want)
			}
		})
	}
}

// A write whose response arrives first is an echo once. A write that the watch skips is not waited for.
func TestAnEchoIsHeldUntilTheWatchHasPassedIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shown   string
		changed bool
		want    bool
	}{
		"the echo":                    {"12", false, true},
		"a later state":               {"13", false, false},
		"a later state of more":       {"13", true, false},
		"an own write of more":        {"12", true, false},
		"another writer's in between": {"11", false, false},
	} {
		e := NewEchoes()
		e.Begin(at("10")).Wrote(FormOf(at("12")))
		if got := e.Is(at(test.shown), test.changed); got != test.want {
			t.Errorf("%s: echo is %v, want %v", name, got, test.want)
		}
		if held := e.ledger.Kept(); (held > 0) != (test.shown == "11") {
			t.Errorf("%s: %d writes are held", name, held)
		}
	}
	e := NewEchoes()
	if write := e.Begin(at("10")); !e.Is(at("11"), false) || !write.Failed() {
		t.Error("another writer's state is lost where the write fails")
	}
}
