package fast_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestParity compares a cluster with all accelerations with a cluster without any: the objects of a new cluster, discovery and
// OpenAPI documents, the responses to each step of the scenarios, and the objects that remain after them.
func TestParity(t *testing.T) {
	sides := [2]*child{}
	for i, except := range [][]string{nil, allNames()} {
		sides[i] = startChild(t, []string{"fast", "plain"}[i], except...)
	}
	alike(t, "objects of a fresh cluster", sides, func(c *child) (map[string]string, error) { return objectsOf(t.Context(), c) })
	alike(t, "discovery", sides, func(c *child) (map[string]string, error) { return discoveryOf(t.Context(), c) })
	alike(t, "OpenAPI", sides, func(c *child) (map[string]string, error) { return openAPIOf(t.Context(), c) })
	acted := [2]map[string]string{}
	var group sync.WaitGroup
	var mu sync.Mutex
	for i, side := range sides {
		acted[i] = map[string]string{}
		for name, act := range scenarios {
			group.Go(func() {
				s := &script{ctx: t.Context(), child: side}
				act(s)
				mu.Lock()
				defer mu.Unlock()
				acted[i][name] = strings.Join(s.seen, "\n")
				if s.err != nil {
					t.Errorf("%s: %s: %v", side.name, name, s.err)
				}
			})
		}
	}
	group.Wait()
	if different := differences(acted[0], acted[1]); different != "" {
		t.Errorf("scenarios differ:\n%s", different)
	}
	alike(t, "discovery with a CRD", sides, func(c *child) (map[string]string, error) { return discoveryOf(t.Context(), c) })
	alike(t, "OpenAPI with a CRD", sides, func(c *child) (map[string]string, error) { return openAPIOf(t.Context(), c) })
	alike(t, "objects that are left", sides, func(c *child) (map[string]string, error) { return objectsOf(t.Context(), c) })
}

// alikeIn is how long two clusters may differ: their controllers and the aggregator need some time.
const alikeIn = 5 * time.Minute

// alike fails the test unless both clusters look the same before the timeout.
func alike(t *testing.T, what string, sides [2]*child, look func(*child) (map[string]string, error)) {
	t.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(alikeIn); ; <-ticker.C {
		var seen [2]map[string]string
		var err error
		for i, side := range sides {
			if seen[i], err = look(side); err != nil {
				break
			}
		}
		different := differences(seen[0], seen[1])
		if err == nil && different == "" {
			t.Logf("%s: %d alike", what, len(seen[0]))
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s differ (error: %v):\n%s", what, err, different)
			return
		}
	}
}

// differences lists the differences between a fast and a plain cluster by name.
func differences(fast, plain map[string]string) string {
	all := maps.Clone(fast)
	maps.Copy(all, plain)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if fast[name] != plain[name] {
			lines = append(lines, fmt.Sprintf("%s\n  fast:  %s\n  plain: %s", name, around(fast[name], plain[name]), around(plain[name], fast[name])))
		}
	}
	return strings.Join(lines, "\n")
}

// around returns the part of a text in which it differs from another.
func around(text, other string) string {
	at := 0
	for at < min(len(text), len(other)) && text[at] == other[at] {
		at++
	}
	return fmt.Sprintf("%q", text[max(0, at-150):min(len(text), at+300)])
}
