package rbac

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Refusal is a permission that a user lacks.
type Refusal struct {
	// User is the API server's name of the user.
	User string
	Permission
}

// The sentences, in plain form and in JSON or a quoted string, in which each quote has a backslash.
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
		found = append(found, Refusal{m[1], Permission{Verb: m[2], Resource: m[3], Group: m[4], Namespace: m[5]}})
	}
	for _, m := range pathSentence.FindAllStringSubmatch(text, -1) {
		found = append(found, Refusal{m[1], Permission{Verb: m[2], URL: m[3]}})
	}
	return found
}

// Set collects the permissions that one user lacks. It is safe for concurrent use.
type Set struct {
	user  string
	mu    sync.Mutex
	found []Permission
}

// Of returns an empty Set for a user.
func Of(user string) *Set { return &Set{user: user} }

// Add adds the refusals in a text, and reports whether one of them is new.
func (s *Set) Add(text string) bool {
	found := Find(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	added := false
	for _, refusal := range found {
		if refusal.User == s.user && !slices.Contains(s.found, refusal.Permission) {
			s.found, added = append(s.found, refusal.Permission), true
		}
	}
	return added
}

// With returns a Set with the refusals so far and those in texts, which are not added to the Set itself. Use it for temporary
// states, such as an object's conditions.
func (s *Set) With(texts ...string) *Set {
	both := &Set{user: s.user, found: s.All()}
	for _, text := range texts {
		both.Add(text)
	}
	return both
}

// Clear forgets all refusals, for example after the rules were changed.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = nil
}

// All returns the permissions in the order in which they were refused.
func (s *Set) All() []Permission {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.found)
}

// Rules returns the rules that prevent all refusals of the set. A client that lists objects to stay informed also watches
// them, and this would be refused next, so that "watch" is added to "list".
func (s *Set) Rules() []rbacv1.PolicyRule {
	lacking := s.All()
	for _, one := range lacking {
		if one.Verb == "list" {
			one.Verb = "watch"
			lacking = append(lacking, one)
		}
	}
	return Rules(lacking)
}
