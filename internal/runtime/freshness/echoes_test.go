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
			write := e.Begin(at("10"), Status, 10)
			for _, version := range test.meanwhile {
				if !e.Is(at(version), Status) {
					t.Errorf("%s was reported while the write was in flight", version)
				}
			}
			if got := write.Wrote(FormOf(at("12"))); got != test.want {
				t.Errorf("news is %v, want %v", got, test.want)
			}
		})
	}
}

// A write whose code panics holds nothing back afterwards, and what arrived during it is news.
func TestAWriteThatPanics(t *testing.T) {
	t.Parallel()
	e := NewEchoes()
	func() {
		defer func() { _ = recover() }()
		write := e.Begin(at("10"), Status, 10)
		defer write.Abandoned()
		panic("the status cannot be written as JSON")
	}()
	if e.Is(at("11"), Status) {
		t.Error("a later state is held back")
	}
	write := e.Begin(at("11"), Status, 11)
	write.Wrote(FormOf(at("12")))
	write.Abandoned() // does nothing
	if !e.Is(at("12"), Status) {
		t.Error("the response is no echo any more")
	}
}

// A write whose response arrives first is an echo once. A write that the watch skips is not waited for.
func TestAnEchoIsHeldUntilTheWatchHasPassedIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shown string
		part  Part
		want  bool
	}{
		"the echo":                    {"12", Status, true},
		"a later state":               {"13", Status, false},
		"a later state of more":       {"13", More, false},
		"an own write of more":        {"12", More, false},
		"an own write of metadata":    {"12", Metadata, false},
		"another writer's in between": {"11", Status, false},
	} {
		e := NewEchoes()
		e.Begin(at("10"), Status, 10).Wrote(FormOf(at("12")))
		if got := e.Is(at(test.shown), test.part); got != test.want {
			t.Errorf("%s: echo is %v, want %v", name, got, test.want)
		}
		if held := e.ledger.Kept(); (held > 0) != (test.shown == "11") {
			t.Errorf("%s: %d writes are held", name, held)
		}
	}
	e := NewEchoes()
	if write := e.Begin(at("10"), Status, 10); !e.Is(at("11"), Status) || !write.Failed() {
		t.Error("another writer's state is lost where the write fails")
	}
}

// Of a write of the metadata, only the very response is an echo, also if the write was based on a later state than the reconcile. The status
// that is written next changes nothing about that.
func TestWhatOfTheMetadataIsNews(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shown string
		part  Part
		want  bool
	}{
		"the echo": {"12", Metadata, true},
		"another writer's before the state it builds on": {"9", Metadata, false},
		"another writer's in between":                    {"11", Metadata, false},
		"both writes in one event":                       {"14", Metadata, false},
		"a later state":                                  {"15", Metadata, false},
		"the echo of the status":                         {"14", Status, true},
		"a later status":                                 {"15", Status, false},
		"a change of more":                               {"12", More, false},
	} {
		e := NewEchoes()
		e.Begin(at("10"), Metadata, 10).Wrote(FormOf(at("12")))
		e.Begin(at("12"), Status, 12).Wrote(FormOf(at("14")))
		if got := e.Is(at(test.shown), test.part); got != test.want {
			t.Errorf("%s: echo is %v, want %v", name, got, test.want)
		}
	}
	e := NewEchoes()
	if write := e.Begin(at("10"), Metadata, 10); !e.Is(at("9"), Metadata) || !write.Wrote(FormOf(at("12"))) {
		t.Error("another writer's state is lost that arrives before the response")
	}
}
