package shardtable

import (
	"cmp"
	"slices"
)

// Balance returns who should hold each slot. No member has two more than another. A slot stays
// where it is unless its holder is not among the members or has too many, so that no more
// move than have to. The same table and members, in whatever order, give the same.
func Balance(t Table, members []string) Table {
	wanted := New(t.Slots())
	if len(members) == 0 {
		return wanted
	}
	room := quotas(t, members)
	for slot, holder := range t.Holders {
		if room[holder] > 0 {
			room[holder]--
			wanted.Holders[slot] = holder
		}
	}
	for slot, holder := range wanted.Holders {
		if holder == "" {
			roomiest := roomiest(room)
			room[roomiest]--
			wanted.Holders[slot] = roomiest
		}
	}
	return wanted
}

// quotas are how many slots each member is to have. Those who have most get the odd ones.
func quotas(t Table, members []string) map[string]int {
	ranked := slices.Compact(slices.Sorted(slices.Values(members)))
	slices.SortStableFunc(ranked, func(a, b string) int { return cmp.Compare(len(t.Held(b)), len(t.Held(a))) })
	quotas := map[string]int{}
	for i, member := range ranked {
		quotas[member] = t.Slots() / len(ranked)
		if i < t.Slots()%len(ranked) {
			quotas[member]++
		}
	}
	return quotas
}

// roomiest is the member that lacks most slots, of several the first by name.
func roomiest(room map[string]int) string {
	best := ""
	for member, left := range room {
		if best == "" || left > room[best] || left == room[best] && member < best {
			best = member
		}
	}
	return best
}
