package shardtable

import "slices"

// View is what a member knows.
type View struct {
	Me string
	// Leaving: the member is told to stop, and gives up what it holds.
	Leaving bool
	// Slots is how many slots the member would make where nobody else has said so.
	Slots int
	// Table is nil where there is none.
	Table *Table
	// Bare: there is no table, and somebody may still work by one that was removed.
	Bare bool
	// Live are members whose leases run, and Dead those whose leases have run out. A holder that is
	// neither has no lease any more, and may continue until it notices.
	Live, Dead []string
	// Idle are the slots that the member holds by the table and does not work on: they can be
	// given away.
	Idle []int
}

// Decision is what a member does next.
type Decision struct {
	// Expel are members whose leases are to be removed before their slots are taken: one that
	// runs late finds out by that.
	Expel []string
	// Work are the slots to work on, and Drain those to stop working on, in order to give them away.
	Work, Drain []int
	// Write is the table as it should be, or nil where it is.
	Write *Table
	// Replaced is how many slots the table had that nobody holds and that is cut again, or 0.
	Replaced int
}

// Decide tells what a member does next. It takes only what nobody holds or the dead do, and
// gives away only what it does not work on: so it is right whatever others decide in the meantime,
// as long as the table is written only where nobody else wrote it since.
func Decide(v View) Decision {
	d := Decision{Expel: slices.Clone(v.Dead)}
	if v.Leaving {
		d.Expel = nil // whoever stays does that
	}
	if v.Table == nil && (v.Bare || v.Leaving) {
		return d
	}
	current, anew := v.current()
	if anew && v.Table != nil {
		d.Replaced = v.Table.Slots()
	}
	live := v.Live
	if !v.Leaving {
		live = append(slices.Clone(live), v.Me)
	}
	next := Table{Holders: slices.Clone(current.Holders)}
	if v.Leaving {
		next.Holders = slices.Clone(v.Table.Holders) // the dead stay in it: nobody expelled them
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
			next.Holders[slot] = wanted // another client's too: of several who see it, one writes for all
		}
	}
	if v.Table == nil || anew || !slices.Equal(next.Holders, v.Table.Holders) && !slices.Equal(next.Holders, current.Holders) {
		d.Write = &next
	}
	return d
}

// current is the table without the dead, and whether it is one that the member makes: where
// there is none, or where it has another number of slots and nobody works by it.
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
