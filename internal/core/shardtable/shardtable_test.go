package shardtable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/testing/scenario"
)

// A scenario is the knowledge of a member and its decision.
func TestDecide(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 21, func(t *testing.T, given string) string {
		var in struct {
			Why, Me, Table string
			Leaving, Bare  bool
			Slots          int
			Live, Dead     []string
			Idle           []int
		}
		if err := yaml.UnmarshalStrict([]byte(given), &in); err != nil {
			t.Fatal(err)
		}
		view := View{Me: in.Me, Leaving: in.Leaving, Bare: in.Bare, Slots: in.Slots, Live: in.Live, Dead: in.Dead, Idle: in.Idle}
		if in.Table != "" {
			view.Table = &Table{}
			for holder := range strings.FieldsSeq(in.Table) {
				view.Table.Holders = append(view.Table.Holders, strings.TrimPrefix(holder, "-"))
			}
		}
		return tell(Decide(view))
	})
}

func tell(d Decision) string {
	var out strings.Builder
	for _, member := range d.Expel {
		fmt.Fprintf(&out, "expel %s\n", member)
	}
	if len(d.Work) > 0 {
		fmt.Fprintf(&out, "work on %v\n", d.Work)
	}
	if len(d.Drain) > 0 {
		fmt.Fprintf(&out, "drain %v\n", d.Drain)
	}
	if d.Write != nil {
		fmt.Fprintf(&out, "write")
		for _, holder := range d.Write.Holders {
			fmt.Fprintf(&out, " %s", or(holder, "-"))
		}
		fmt.Fprintln(&out)
	}
	return or(out.String(), "nothing\n")
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// The slot counts of members that join and leave at random never differ by more than one, and no slot moves
// without need.
func TestBalance(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		slots := 1 + random.IntN(Most)
		table, members := New(slots), []string{}
		for range 20 {
			members = change(random, members)
			next := Balance(table, members)
			checkBalance(t, table, next, members)
			shuffled := slices.Clone(members)
			random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if again := Balance(table, shuffled); !slices.Equal(again.Holders, next.Holders) {
				t.Fatalf("the order of members makes a difference: %v and %v", next, again)
			}
			table = next
		}
	}
}

func change(random *rand.Rand, members []string) []string {
	if len(members) > 0 && random.IntN(2) == 0 {
		i := random.IntN(len(members))
		return slices.Delete(slices.Clone(members), i, i+1)
	}
	return append(slices.Clone(members), fmt.Sprintf("m%d", random.IntN(1_000_000)))
}

func checkBalance(t *testing.T, before, after Table, members []string) {
	t.Helper()
	least, most, moved, lost := after.Slots(), 0, 0, 0
	for _, m := range members {
		held := len(after.Held(m))
		least, most = min(least, held), max(most, held)
	}
	if len(members) > 0 && most-least > 1 {
		t.Fatalf("of %d slots somebody holds %d and somebody else %d", after.Slots(), most, least)
	}
	for slot, holder := range before.Holders {
		if !slices.Contains(members, holder) {
			lost++
			continue
		}
		if after.Holders[slot] != holder {
			moved++
		}
	}
	if len(members) == 0 {
		return
	}
	// Slots move away from a live member only to members that lack slots which the lost slots do not cover.
	surplus := 0
	for _, m := range members {
		surplus += max(0, len(before.Held(m))-len(after.Held(m)))
	}
	if moved != surplus {
		t.Fatalf("%d slots moved where %d had to (%d lost)\n%s\n%s", moved, surplus, lost, before, after)
	}
	for _, m := range members {
		for _, other := range members {
			gave, got := len(before.Held(m)) > len(after.Held(m)), len(before.Held(other)) < len(after.Held(other))
			if gave && got && len(after.Held(other)) > len(after.Held(m)) {
				t.Fatalf("a slot moved from %s to %s, which has more now: %v → %v", m, other, before, after)
			}
		}
	}
}

// The API server's own function returns the same slot for an object.
func TestTheServerAgrees(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 3, 12, 13, Most} {
		table := New(slots)
		held := make([]int, slots)
		for range 2000 {
			uid := uuid.NewUUID()
			slot := table.SlotOf(uid)
			held[slot]++
			start, end := edges(t, table.Range(slot))
			hash := "0x" + sharding.HashField(string(uid))
			if sharding.HexLess(hash, start) || !sharding.HexLess(hash, end) {
				t.Fatalf("%s of hash %s is not in slot %d, %s", uid, hash, slot, table.Range(slot))
			}
			if labelled := table.Labelled("key", slot); !strings.Contains(labelled, BucketName(Bucket(uid))) {
				t.Fatalf("bucket %s is not in %s", BucketName(Bucket(uid)), labelled)
			}
		}
		if slices.Min(held) == 0 {
			t.Errorf("of %d slots some got nothing: %v", slots, held)
		}
	}
}

func edges(t *testing.T, selector string) (start, end string) {
	t.Helper()
	parts := strings.Split(selector, "'")
	if len(parts) != 5 {
		t.Fatalf("selector %s", selector)
	}
	return parts[1], parts[3]
}

func TestEachBucketIsInOneSlot(t *testing.T) {
	t.Parallel()
	for slots := 1; slots <= Most; slots++ {
		table := New(slots)
		for bucket := range Buckets {
			slot := table.Slot(bucket)
			if bucket < table.first(slot) || bucket >= table.first(slot+1) {
				t.Fatalf("bucket %d of %d slots is said to be in %d, which is %d to %d", bucket, slots, slot, table.first(slot), table.first(slot+1))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "0 a\n1 -\n", "0 a\n2 b\n", "0  \n", "0 a", "x a\n", "0 a b\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(table.String())
		if err != nil || !slices.Equal(again.Holders, table.Holders) {
			t.Fatalf("%q is read as %v, and written as %q is read as %v: %v", text, table, table.String(), again, err)
		}
	})
}
