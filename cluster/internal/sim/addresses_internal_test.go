package sim

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

func claimed(t *testing.T, a *addresses, uid types.UID) string {
	t.Helper()
	address, err := a.claim(uid)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func TestAddressesAreGivenOnce(t *testing.T) {
	t.Parallel()
	a := newAddresses(netip.MustParsePrefix("198.18.0.0/29"))
	a.reserve("old", "198.18.0.2")
	a.reserve("thief", "198.18.0.2")
	a.reserve("stranger", "10.0.0.1")
	for uid, want := range map[types.UID]string{"old": "198.18.0.2"} {
		if got := claimed(t, a, uid); got != want {
			t.Errorf("%s has %s: want %s", uid, got, want)
		}
	}
	one := claimed(t, a, "one")
	if again := claimed(t, a, "one"); one != "198.18.0.1" || again != one {
		t.Errorf("given %s, then %s: want 198.18.0.1 both times", one, again)
	}
	seen := sets.New(one, "198.18.0.2")
	for _, uid := range []types.UID{"thief", "stranger", "four", "five"} {
		address := claimed(t, a, uid)
		if seen.Has(address) || address == "198.18.0.0" || address == "198.18.0.7" {
			t.Errorf("%s was given %s", uid, address)
		}
		seen.Insert(address)
	}
	if address, err := a.claim("seventh"); err == nil {
		t.Errorf("a network of six gave %s to a seventh", address)
	}
	a.release("one")
	if address := claimed(t, a, "seventh"); address != one {
		t.Errorf("given %s: want %s, which has become free", address, one)
	}
	a.retain(sets.New[types.UID]("old"))
	if len(a.of) != 1 || len(a.taken) != 1 {
		t.Errorf("%v are kept: want that of old", a.of)
	}
}

// A released address is not assigned again at once: a client may still associate it with its former owner.
func TestAddressesAreNotReusedAtOnce(t *testing.T) {
	t.Parallel()
	a := newAddresses(netip.MustParsePrefix("198.18.0.0/16"))
	first := claimed(t, a, "first")
	a.release("first")
	if second := claimed(t, a, "second"); second == first {
		t.Errorf("%s was given twice in a row", second)
	}
}
