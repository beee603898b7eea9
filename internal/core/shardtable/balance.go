package shardtable

import (
	"cmp"
	"slices"
)

// Balance returns which member should hold each slot. The numbers of slots of two members differ by at most one. A slot
// stays with its holder unless the holder is not among the members or has too many, so the number of moves is
// minimal. The same table and members, in any order, give the same result.
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

// quotas returns how many slots each member should have. The members with the most slots get the remainder.
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

// roomiest returns the member that lacks the most slots; of several, the first by name.
func roomiest(room map[string]int) string {
	best := ""
	for member, left := range room {
		if best == "" || left > room[best] || left == room[best] && member < best {
			best = member
		}
	}
	return best
}
