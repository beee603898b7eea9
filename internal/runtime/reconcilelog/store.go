package reconcilelog

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Limits of what a Store holds: passes of one object, and of all together. The objects that
// were reconciled longest ago go first.
const (
	PerObject = 8
	InAll     = 2000
)

// Store keeps the last passes of an operator's objects. A nil Store keeps none.
type Store struct {
	operator Operator

	mu     sync.Mutex
	held   map[key]*list.Element // of *kept
	recent list.List             // the one that was reconciled last is last
	passes int
}

// key names an object.
type key struct {
	kind            schema.GroupKind
	namespace, name string
}

// kept is what is held of one object, the oldest pass first.
type kept struct {
	key    key
	passes []Pass
}

// NewStore returns a store of an operator.
func NewStore(operator Operator) *Store {
	return &Store{operator: operator, held: map[key]*list.Element{}}
}

// Manages notes that the operator manages a kind.
func (s *Store) Manages(kind schema.GroupVersionKind) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operator.Kinds = append(s.operator.Kinds, Kind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind})
}

// Add keeps a pass over an object.
func (s *Store) Add(kind schema.GroupKind, namespace, name string, pass Pass) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := key{kind, namespace, name}
	if s.held[of] == nil {
		s.held[of] = s.recent.PushBack(&kept{key: of})
	}
	s.recent.MoveToBack(s.held[of])
	s.passes += s.held[of].Value.(*kept).add(pass.bounded())
	for s.passes > InAll {
		oldest := s.recent.Front()
		dropped := s.recent.Remove(oldest).(*kept)
		delete(s.held, dropped.key)
		s.passes -= len(dropped.passes)
	}
}

// add appends a pass and returns by how many there are more.
func (k *kept) add(pass Pass) int {
	last := len(k.passes) - 1
	if last >= 0 && pass.repeats(&k.passes[last]) {
		pass.Repeats = k.passes[last].Repeats + 1
		k.passes[last] = pass
		return 0
	}
	if len(k.passes) < PerObject {
		k.passes = append(k.passes, pass)
		return 1
	}
	dropped := k.leastTelling()
	k.passes = append(k.passes[:dropped], k.passes[dropped+1:]...)
	k.passes = append(k.passes, pass)
	return 0
}

// leastTelling is the oldest pass that did nothing to a child, so that what was done stays in
// view of a storm of others; with more than half of the passes doing something, the oldest.
func (k *kept) leastTelling() int {
	acted := func(p Pass) bool { return len(p.Actions) > 0 }
	if n := len(slices.DeleteFunc(slices.Clone(k.passes), acted)); n < PerObject/2 {
		return 0
	}
	return slices.IndexFunc(k.passes, func(p Pass) bool { return !acted(p) })
}

// repeats reports whether a pass says nothing that the one before did not.
func (p *Pass) repeats(before *Pass) bool {
	return p.Writes == 0 && before.Writes == 0 && len(p.Actions) == 0 && len(before.Actions) == 0 &&
		p.Outcome == before.Outcome && p.Reason == before.Reason && p.Message == before.Message &&
		slices.Equal(p.Kinds(), before.Kinds())
}

// object returns what is held of an object, the newest pass first.
func (s *Store) object(of key) (Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	element, ok := s.held[of]
	if !ok {
		return Object{}, false
	}
	passes := slices.Clone(element.Value.(*kept).passes)
	slices.Reverse(passes)
	return Object{
		Operator: s.operator.Name, Group: of.kind.Group, Kind: of.kind.Kind,
		Namespace: of.namespace, Name: of.name, Passes: passes,
	}, true
}

// kinds are those that a text names: a kind, or a kind and its group.
func (s *Store) kinds(text string) []schema.GroupKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, group, grouped := strings.Cut(text, ".")
	var found []schema.GroupKind
	for _, kind := range s.operator.Kinds {
		if strings.EqualFold(kind.Kind, name) && (!grouped || kind.Group == group) {
			found = append(found, schema.GroupKind{Group: kind.Group, Kind: kind.Kind})
		}
	}
	return found
}

// Operator describes an operator.
type Operator struct {
	Name    string    `json:"name"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Server is the API server that it works on.
	Server string `json:"server"`
	// Namespaces are those that it works in, none for all.
	Namespaces []string `json:"namespaces,omitempty"`
	Kinds      []Kind   `json:"kinds"`
}

// Kind is one that an operator manages.
type Kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Object is what an operator remembers of an object.
type Object struct {
	Operator  string `json:"operator"`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Passes are the last ones, the newest first.
	Passes []Pass `json:"passes"`
}
