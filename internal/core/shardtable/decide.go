package shardtable

import "slices"

// View is the knowledge of a member.
type View struct {
	Me string
	// Leaving means that the member has to stop, and gives up the slots that it holds.
	Leaving bool
	// Slots is the number of slots that the member creates if no other member has set one.
	Slots int
	// Table is nil if there is none.
	Table *Table
	// Bare means that there is no table, and a member may still work by one that was removed.
	Bare bool
	// Live are members whose leases are valid, and Dead those whose leases have expired. A holder in
	// neither list no longer has a lease, and may continue until it notices.
	Live, Dead []string
	// Idle are the slots that the member holds in the table but does not work on: they can be
	// given away.
	Idle []int
}

// Decision is the next step of a member.
type Decision struct {
	// Expel are members whose leases have to be removed before their slots are taken: a member that
	// is late detects its expulsion by that.
	Expel []string
	// Work are the slots to work on, and Drain the slots to stop working on, in order to give them away.
	Work, Drain []int
	// Write is the table as it should be, or nil if it is correct already.
	Write *Table
}

// Decide returns the next step of a member. It takes only slots that no member or a dead member holds, and
// gives away only slots that the member does not work on. So it is correct whatever other members decide in the
// meantime, as long as the table is written only if no other member wrote it since.
func Decide(v View) Decision {
	d := Decision{Expel: slices.Clone(v.Dead)}
	if v.Leaving {
		d.Expel = nil // a member that stays does that
	}
	if v.Table == nil && (v.Bare || v.Leaving) {
		return d
	}
	current, anew := v.current()
	live := v.Live
	if !v.Leaving {
		live = append(slices.Clone(live), v.Me)
	}
	next := Table{Holders: slices.Clone(current.Holders)}
	if v.Leaving {
		next.Holders = slices.Clone(v.Table.Holders) // the dead stay in the table: no member expelled them
	}
	for slot, wanted := range Balance(current, live).Holders {
		switch holder := current.Holders[slot]; {
		case holder == v.Me && wanted == v.Me:
			d.Work = append(d.Work, slot)
		case holder == v.Me && wanted != v.Me && slices.Contains(v.Idle, slot):
			next.Holders[slot] = wanted
		case holder == v.Me && wanted != v.Me:
			d.Drain = append(d.Drain, slot)
		case holder == "" && !v.Leaving:
			next.Holders[slot] = wanted // slots of other members too: of several members that see it, one writes for all
		}
	}
	if v.Table == nil || anew || !slices.Equal(next.Holders, v.Table.Holders) && !slices.Equal(next.Holders, current.Holders) {
		d.Write = &next
	}
	return d
}

// current returns the table without the dead, and whether the member creates it: if there
// is none, or if it has another number of slots and no member works by it.
func (v View) current() (_ Table, anew bool) {
	if v.Table == nil {
		return New(v.Slots), true
	}
	current, unheld := Table{Holders: slices.Clone(v.Table.Holders)}, true
	for slot, holder := range current.Holders {
		if slices.Contains(v.Dead, holder) {
			current.Holders[slot] = ""
		}
		unheld = unheld && current.Holders[slot] == ""
	}
	if unheld && !v.Leaving && len(v.Live) == 0 && v.Slots != current.Slots() {
		return New(v.Slots), true
	}
	return current, false
}
