package trigger

import (
	"fmt"
	"slices"
	"time"
)

// MaxKept is the number of different causes that are stored for an object that waits in the queue. Nearly
// always there is one cause; a storm of events must not use much memory.
const MaxKept = 8

// Gathered are the causes of one reconcile, in order of arrival.
type Gathered struct {
	Causes []Cause `json:"causes"`
	// More counts the causes that arrived when MaxKept different ones were stored already.
	More int `json:"more,omitempty"`
}

// Add adds a cause; equal causes are counted.
func (g *Gathered) Add(c Cause) {
	for i := range g.Causes {
		if kept := &g.Causes[i]; kept.Same(c) {
			kept.Times, kept.At = max(kept.Times, 1)+max(c.Times, 1), c.At
			return
		}
	}
	if len(g.Causes) == MaxKept {
		g.More++
		return
	}
	g.Causes = append(g.Causes, c)
}

// Join adds the causes of an earlier Gathered, which is not changed because it may still be read.
func (g *Gathered) Join(before Gathered) {
	after := *g
	*g = Gathered{Causes: slices.Clone(before.Causes), More: before.More}
	for _, c := range after.Causes {
		g.Add(c)
	}
	g.More += after.More
}

// Kinds returns the different kinds of causes, in order.
func (g Gathered) Kinds() []string {
	var kinds []string
	seen := map[Kind]bool{}
	for _, c := range g.Causes {
		if !seen[c.Kind] {
			seen[c.Kind] = true
			kinds = append(kinds, string(c.Kind))
		}
	}
	return kinds
}

// Texts returns the causes in words.
func (g Gathered) Texts() []string {
	texts := make([]string, len(g.Causes))
	for i, c := range g.Causes {
		texts[i] = c.String()
	}
	return texts
}

// Summary returns Texts, with those combined that differ only in the object's name: "3 Pods
// went away".
func (g Gathered) Summary() []string {
	alike := map[Cause]int{}
	form := func(c Cause) Cause {
		return Cause{Kind: c.Kind, Object: Object{Kind: c.Object.Kind}, Note: c.Note}
	}
	for _, c := range g.Causes {
		alike[form(c)]++
	}
	var texts []string
	for _, c := range g.Causes {
		n := alike[form(c)]
		delete(alike, form(c))
		switch {
		case n == 1:
			texts = append(texts, c.String())
		case n > 1:
			several := form(c)
			several.Object.Kind = fmt.Sprintf("%d %ss", n, c.Object.Kind)
			texts = append(texts, several.String())
		}
	}
	return texts
}

// Newest returns when the last cause happened.
func (g Gathered) Newest() time.Time {
	var newest time.Time
	for _, c := range g.Causes {
		if c.At.After(newest) {
			newest = c.At
		}
	}
	return newest
}
