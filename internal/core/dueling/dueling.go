// Package dueling detects that another client keeps reverting a child, which client and fields it is about, and how
// long to delay the next correction: otherwise two controllers that disagree would write as fast as the API server
// answers.
//
// It is pure. It reads no cluster and no clock: the caller reports each repair and the time.
//
// Guarantees: a repair is delayed by a minute at most and never dropped; the first Rounds
// of a field are not delayed at all. A field that needed no repair for Peace is forgotten.
//
// Caveats: no more than 100 fields of one object are stored at a time.
package dueling

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/core/plan"
)

const (
	// Rounds is how often a field is repaired, each time within Peace, before it counts as a contest.
	Rounds = 3
	// Peace is how long a field has to stay unchanged after a repair for its contest to be over.
	Peace = 5 * time.Minute

	// maxFields limits the number of fields stored for one object.
	maxFields = 100
)

// Change is a change of a child by another client: of one of its fields, or of all of it.
type Change struct {
	// Field is the path of the field. It is empty if the child as a whole was deleted.
	Field string
	// To identifies the desired value of the field: restoring the same value twice is a contest,
	// restoring two values is not. It may be empty if only the same value is ever restored.
	To string
	// By is the field manager that changed it, if that is known.
	By string
}

// Ledger records the recent repairs of the children of one object. The zero value is empty. It is
// not safe for concurrent use.
type Ledger struct {
	known   map[place]*entry
	updated map[plan.ID]update
	swept   time.Time
}

// update is the last update of a child by the operator itself.
type update struct {
	content string
	at      time.Time
}

// place is the subject of a contest.
type place struct {
	child     plan.ID
	field, to string
}

// entry is the record of a place.
type entry struct {
	rounds int
	last   time.Time
	by     string
}

// Hold returns how long a repair has to be delayed. It is not delayed if one of the changes that
// it reverts is not a contest.
func (l *Ledger) Hold(child plan.ID, changes []Change, now time.Time) time.Duration {
	var longest, shortest time.Duration = 0, timing.lastPause
	for _, c := range changes {
		left := l.known[place{child, c.Field, c.To}].left(now)
		longest, shortest = max(longest, left), min(shortest, left)
	}
	if shortest <= 0 {
		return 0
	}
	return longest
}

// Repaired records a repair. It must be called for each repair.
func (l *Ledger) Repaired(child plan.ID, changes []Change, now time.Time) {
	l.sweep(now)
	for _, c := range changes {
		l.entry(place{child, c.Field, c.To}).put(c.By, now)
	}
}

// Updated records that the operator gave a child another content, which is identified by its hash.
func (l *Ledger) Updated(child plan.ID, content string, now time.Time) {
	if l.updated == nil {
		l.updated = map[plan.ID]update{}
	}
	l.updated[child] = update{content, now}
}

// Kept reports whether a child still has the content of its last update, as far as that was in the last Peace: then no other client has
// reverted it, and the next update is a new decision of the operator.
func (l *Ledger) Kept(child plan.ID, content string) bool {
	last, known := l.updated[child]
	return known && last.content == content
}

// Forget forgets the repairs of a child that was left to others on purpose. When it is a child again, a new history begins.
func (l *Ledger) Forget(child plan.ID) {
	maps.DeleteFunc(l.known, func(at place, _ *entry) bool { return at.child == child })
	delete(l.updated, child)
}

// entry returns the entry of a place, or one that is not stored if there are too many.
func (l *Ledger) entry(at place) *entry {
	if l.known[at] != nil {
		return l.known[at]
	}
	made := &entry{}
	if l.known == nil {
		l.known = map[place]*entry{}
	}
	if len(l.known) < maxFields {
		l.known[at] = made
	}
	return made
}

// Contests returns the contests about children of the object, and when the first of them
// is over if no further change happens.
func (l *Ledger) Contests(now time.Time) (contests []Contest, over time.Time) {
	found := map[plan.ID]*Contest{}
	for at, e := range l.known {
		if !e.contested(now) {
			continue
		}
		if found[at.child] == nil {
			found[at.child] = &Contest{Child: at.child}
		}
		found[at.child].add(at.field, e.by)
		if end := e.last.Add(Peace); over.IsZero() || end.Before(over) {
			over = end
		}
	}
	for _, c := range found {
		slices.Sort(c.Fields)
		slices.Sort(c.By)
		contests = append(contests, *c)
	}
	slices.SortFunc(contests, func(a, b Contest) int { return cmp.Compare(a.Child.Key(), b.Child.Key()) })
	return contests, over
}

// sweep drops entries without recent changes, from time to time.
func (l *Ledger) sweep(now time.Time) {
	if now.Sub(l.swept) < Peace {
		return
	}
	l.swept = now
	maps.DeleteFunc(l.known, func(_ place, e *entry) bool { return e.peaceful(now) })
	maps.DeleteFunc(l.updated, func(_ plan.ID, u update) bool { return now.Sub(u.at) >= Peace })
}

func (e *entry) put(by string, now time.Time) {
	if e.peaceful(now) {
		e.rounds = 0
	}
	e.rounds++
	e.last = now
	e.by = cmp.Or(by, e.by)
}

func (e *entry) peaceful(now time.Time) bool { return now.Sub(e.last) >= Peace }

func (e *entry) contested(now time.Time) bool { return e.rounds >= Rounds && !e.peaceful(now) }

// left returns the remaining delay of the next repair. A nil entry causes no delay.
func (e *entry) left(now time.Time) time.Duration {
	if e == nil || !e.contested(now) {
		return 0
	}
	pause := timing.lastPause
	if doublings := e.rounds - Rounds; doublings < 6 { // 1 s << 6 is more than a minute
		pause = timing.firstPause << doublings
	}
	return e.last.Add(pause).Sub(now)
}

// Contest is a child that another client keeps reverting.
type Contest struct {
	Child plan.ID
	// Fields are sorted. An empty field means that the child is deleted.
	Fields []string
	// By are the field managers, sorted, as far as they are known.
	By []string
}

func (c *Contest) add(field, by string) {
	if !slices.Contains(c.Fields, field) {
		c.Fields = append(c.Fields, field)
	}
	if by != "" && !slices.Contains(c.By, by) {
		c.By = append(c.By, by)
	}
}

// maxNamed is the number of fields that a sentence names.
const maxNamed = 5

// String returns a readable clause. It stays the same while the subject of the contest is the same.
func (c Contest) String() string {
	by := cmp.Or(strings.Join(c.By, " and "), "somebody") + " keeps"
	if len(c.By) > 1 {
		by = strings.TrimSuffix(by, "s")
	}
	fields := slices.DeleteFunc(slices.Clone(c.Fields), func(f string) bool { return f == "" })
	if len(fields) == 0 {
		return fmt.Sprintf("%s deleting %s", by, c.Child)
	}
	if more := len(fields) - maxNamed; more > 0 {
		fields = append(fields[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s changing %s of %s", by, strings.Join(fields, ", "), c.Child)
}

// Tell describes contests and the reaction to them in a sentence that stays the
// same while they last. It is empty if there are none.
func Tell(contests []Contest) string {
	if len(contests) == 0 {
		return ""
	}
	var clauses []string
	for _, c := range contests {
		clauses = append(clauses, c.String())
	}
	return strings.Join(clauses, "; ") + "; reverting it with backoff, up to 1m"
}
