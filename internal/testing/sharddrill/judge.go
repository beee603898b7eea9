package sharddrill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Verdict is the result of the analysis of a log.
type Verdict struct {
	// Writes is the number of replicas' writes to shared objects. Handovers is the number of slots that were handed over from one
	// replica to another.
	Writes, Handovers int
	// Replicas is the number of replicas that wrote.
	Replicas int
	// Late are writes by a replica whose slot was already held by another one. Each is the only write of its object since the
	// replica lost the slot, so its effect is the same as if it came before the handover.
	Late []string
	// Two are writes by two owners: writes by a replica that did not hold the slot, if any replica, including itself, had already
	// written the object since it lost the slot, or if it had never held the slot.
	Two []string
	// Changes is the number of changes by other clients. Slowest is the longest time that a change waited for a replica to handle
	// it. Starved are the changes that waited longer than the limit, or forever.
	Changes int
	Slowest time.Duration
	Starved []string
}

// Judge analyzes the writes in a log. A change that no replica handled within the limit is starved, unless a later change of
// the object replaced it.
func Judge(writes []Write, limit time.Duration) Verdict {
	v := Verdict{}
	v.judgeOwners(writes)
	v.judgeChanges(writes, limit)
	return v
}

// history contains the events before a write.
type history struct {
	tables []Write
	// written are the writes of replicas to each object.
	written map[string][]Write
}

func (v *Verdict) judgeOwners(writes []Write) {
	h := history{written: map[string][]Write{}}
	replicas := map[string]bool{}
	for _, w := range writes {
		if w.Table != nil {
			v.Handovers += h.moved(w)
			h.tables = append(h.tables, w)
			continue
		}
		if w.Replica == "" || w.Owner == "" {
			continue
		}
		v.Writes++
		replicas[w.Replica] = true
		if !h.holds(w) {
			v.late(&h, w)
		}
		h.written[w.Object] = append(h.written[w.Object], w)
	}
	v.Replicas = len(replicas)
}

// late classifies a write by a replica that does not hold the slot.
func (v *Verdict) late(h *history, w Write) {
	lost := h.lost(w)
	told := fmt.Sprintf("revision %d: %s %s by %s, whose slot was %s's", w.Revision, w.Verb, w.Object, w.Replica, cmp.Or(h.holder(len(h.tables)-1, w.Owner), "nobody"))
	other := slices.IndexFunc(h.written[w.Object], func(o Write) bool { return o.Revision > lost })
	switch {
	case lost == 0:
		v.Two = append(v.Two, told+", and never its own")
	case other >= 0:
		v.Two = append(v.Two, fmt.Sprintf("%s since %d, and which %s wrote at %d", told, lost, h.written[w.Object][other].Replica, h.written[w.Object][other].Revision))
	default:
		v.Late = append(v.Late, fmt.Sprintf("%s since %d", told, lost))
	}
}

// holder returns the holder of the slot of an object in a table.
func (h *history) holder(of int, owner types.UID) string {
	if of < 0 {
		return ""
	}
	t := h.tables[of].Table
	return t.Holders[t.SlotOf(owner)]
}

// is reports whether a holder is a replica, in any of the replica's lives.
func is(holder, replica string) bool {
	life, found := strings.CutPrefix(holder, replica+"-")
	return found && !strings.Contains(life, "-")
}

func (h *history) holds(w Write) bool { return is(h.holder(len(h.tables)-1, w.Owner), w.Replica) }

// lost returns the revision at which the writing replica lost the slot of the object, or 0 if it never held the slot.
func (h *history) lost(w Write) uint64 {
	for i := len(h.tables) - 2; i >= 0; i-- {
		if is(h.holder(i, w.Owner), w.Replica) {
			return h.tables[i+1].Revision
		}
	}
	return 0
}

// moved counts the slots that a table assigns to another replica.
func (h *history) moved(w Write) int {
	if len(h.tables) == 0 {
		return 0
	}
	before, moved := h.tables[len(h.tables)-1].Table, 0
	for slot, holder := range w.Table.Holders {
		if slot < before.Slots() && before.Holders[slot] != holder && holder != "" {
			moved++
		}
	}
	return moved
}

// change is a change by another client that waits for a replica.
type change struct {
	Write
	since time.Time
}

// managed returns the resources whose status replicas write.
func managed(writes []Write) map[string]bool {
	managed := map[string]bool{}
	for _, w := range writes {
		if w.Replica != "" && w.Status {
			managed[resource(w)] = true
		}
	}
	return managed
}

func resource(w Write) string {
	resource, _, _ := strings.Cut(w.Object, " ")
	return resource
}

// judgeChanges finds changes of owners that no replica handled. Further changes of an object that is already waiting wait together with the
// first one. Each write of an object shows which changes were handled before it, so the last changes can be judged only if each object is
// written once at the end.
func (v *Verdict) judgeChanges(writes []Write, limit time.Duration) {
	waiting, managed := map[string]change{}, managed(writes)
	end := time.Time{}
	for _, w := range writes {
		end = w.At
		if !managed[resource(w)] {
			continue
		}
		c, waits := waiting[w.Object]
		if waits && w.Replica == "" && w.Observed >= c.Generation {
			// Handled by a write that the log does not contain: a replica was killed before it received the response.
			delete(waiting, w.Object)
			c, waits = change{Write: c.Write}, false
		}
		switch {
		case w.Replica == "" && w.Verb == "delete":
			delete(waiting, w.Object)
		case w.Replica == "" && w.Generation > max(c.Generation, w.Observed):
			v.Changes++
			if !waits {
				c.since = w.At
			}
			c.Write = w
			waiting[w.Object] = c
		case w.Replica != "" && w.Status && waits && w.Observed >= c.Generation:
			v.waited(c, w.At.Sub(c.since), limit)
			delete(waiting, w.Object)
		}
	}
	for _, c := range waiting {
		v.Starved = append(v.Starved, fmt.Sprintf("generation %d of %s was never seen to, for %s", c.Generation, c.Object, end.Sub(c.since)))
	}
}

func (v *Verdict) waited(c change, took, limit time.Duration) {
	v.Slowest = max(v.Slowest, took)
	if took > limit {
		v.Starved = append(v.Starved, fmt.Sprintf("generation %d of %s waited %s", c.Generation, c.Object, took.Round(time.Millisecond)))
	}
}

// String returns the verdict in one or more lines.
func (v Verdict) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d writes by %d replicas over %d hand-overs of slots: %d by two owners, %d late; %d changes, %d starved, the slowest took %s",
		v.Writes, v.Replicas, v.Handovers, len(v.Two), len(v.Late), v.Changes, len(v.Starved), v.Slowest.Round(time.Millisecond))
	for _, list := range [][]string{v.Two, v.Late, v.Starved} {
		for _, told := range list[:min(len(list), 5)] {
			out.WriteString("\n  " + told)
		}
	}
	return out.String()
}
