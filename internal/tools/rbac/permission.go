// Package rbac finds out which permissions an operator lacks, from what it logs.
//
// An API server refuses a request with one standard sentence:
//
//	pods is forbidden: User "system:serviceaccount:ns:name" cannot list resource "pods"
//	in API group "" in the namespace "default"
//
// Client libraries of all languages carry it into errors and logs, so that reading it
// there works for every operator. A [Set] collects the refusals of one user and says which
// rules would lift them.
package rbac

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Refusal is one thing that a user may not do.
type Refusal struct {
	// User is the name that the API server knows the user by.
	User string
	// Verb is what was asked for: get, list, create, …
	Verb string
	// Group and Resource are what it was asked of, the resource with its subresource:
	// "apps" and "deployments/status". Both are empty when a Path was asked for.
	Group, Resource string
	// Path is a URL that is no resource, such as /metrics.
	Path string
	// Namespace that it was asked in, "" for the whole cluster.
	Namespace string
}

// The sentence, as it is and as it stands in JSON or a quoted string, where each quote has a
// backslash.
var (
	resourceSentence = regexp.MustCompile(`User \\*"([^"\\]+)\\*" cannot (\S+) resource \\*"([^"\\]+)\\*" in API group \\*"([^"\\]*)\\*"(?: in the namespace \\*"([^"\\]+)\\*")?`)
	pathSentence     = regexp.MustCompile(`User \\*"([^"\\]+)\\*" cannot (\S+) path \\*"([^"\\]+)\\*"`)
)

// Find returns the refusals in a text.
func Find(text string) []Refusal {
	if !strings.Contains(text, " cannot ") {
		return nil
	}
	var found []Refusal
	for _, m := range resourceSentence.FindAllStringSubmatch(text, -1) {
		found = append(found, Refusal{User: m[1], Verb: m[2], Resource: m[3], Group: m[4], Namespace: m[5]})
	}
	for _, m := range pathSentence.FindAllStringSubmatch(text, -1) {
		found = append(found, Refusal{User: m[1], Verb: m[2], Path: m[3]})
	}
	return found
}

// Set collects what one user may not do. It is safe for concurrent use.
type Set struct {
	user  string
	mu    sync.Mutex
	found []Refusal
}

// Of returns an empty Set for a user.
func Of(user string) *Set { return &Set{user: user} }

// Add collects the refusals in a text, and reports whether one of them is new.
func (s *Set) Add(text string) bool {
	found := Find(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	added := false
	for _, refusal := range found {
		if refusal.User == s.user && !slices.Contains(s.found, refusal) {
			s.found, added = append(s.found, refusal), true
		}
	}
	return added
}

// With returns a Set of what was refused so far and in texts, which the Set itself does not keep:
// use it for what is true only now, such as an object's conditions.
func (s *Set) With(texts ...string) *Set {
	both := &Set{user: s.user, found: s.All()}
	for _, text := range texts {
		both.Add(text)
	}
	return both
}

// Clear forgets what was found, as after the rules were changed.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = nil
}

// All are the refusals, in the order they were met.
func (s *Set) All() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.found)
}
