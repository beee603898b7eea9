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
// were reconciled longest ago are dropped first.
const (
	PerObject = 8
	InAll     = 2000
)

// Store holds the last passes of an operator's objects. A nil Store holds none.
type Store struct {
	operator Operator

	mu     sync.Mutex
	held   map[key]*list.Element // of *kept
	recent list.List             // the one that was reconciled last is last
	passes int
}

// key identifies an object.
type key struct {
	kind            schema.GroupKind
	namespace, name string
}

// kept holds the passes of one object, the oldest first.
type kept struct {
	key    key
	passes []Pass
}

// NewStore returns a store of an operator.
func NewStore(operator Operator) *Store {
	return &Store{operator: operator, held: map[key]*list.Element{}}
}

// Manages records that the operator manages a kind.
func (s *Store) Manages(kind schema.GroupVersionKind) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operator.Kinds = append(s.operator.Kinds, Kind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind})
}

// Add stores a pass of an object.
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

// add appends a pass and returns by how much the number of passes grew.
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

// leastTelling returns the oldest pass that did nothing to a child, so that actions stay
// visible during a storm of other passes. If more than half of the passes did something, it returns the oldest pass.
func (k *kept) leastTelling() int {
	acted := func(p Pass) bool { return len(p.Actions) > 0 }
	if n := len(slices.DeleteFunc(slices.Clone(k.passes), acted)); n < PerObject/2 {
		return 0
	}
	return slices.IndexFunc(k.passes, func(p Pass) bool { return !acted(p) })
}

// repeats reports whether a pass contains nothing new compared with the one before.
func (p *Pass) repeats(before *Pass) bool {
	return p.Writes == 0 && before.Writes == 0 && len(p.Actions) == 0 && len(before.Actions) == 0 &&
		p.Outcome == before.Outcome && p.Reason == before.Reason && p.Message == before.Message &&
		slices.Equal(p.Kinds(), before.Kinds())
}

// object returns the stored data of an object, the newest pass first.
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

// kinds returns the kinds that a text names: a kind, or a kind and its group.
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
	// Namespaces are the namespaces that it works in; empty means all.
	Namespaces []string `json:"namespaces,omitempty"`
	Kinds      []Kind   `json:"kinds"`
}

// Kind is a kind that an operator manages.
type Kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Object is the stored data of an operator about an object.
type Object struct {
	Operator  string `json:"operator"`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Passes are the last passes, the newest first.
	Passes []Pass `json:"passes"`
}
