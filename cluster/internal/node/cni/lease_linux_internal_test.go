//go:build linux

package cni

import (
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func testSettings(t *testing.T, subnet string) Settings {
	t.Helper()
	prefix := netip.MustParsePrefix(subnet)
	return Settings{Subnet: prefix, Gateway: prefix.Addr().Next(), Leases: t.TempDir()}
}

func TestAddressesAreGivenOnce(t *testing.T) {
	t.Parallel()
	s := testSettings(t, "198.18.128.0/24")
	var mu sync.Mutex
	holders := map[netip.Addr]string{}
	var pods sync.WaitGroup
	for i := range 50 {
		pods.Go(func() {
			name := string(rune('a'+i%26)) + string(rune('a'+i/26))
			address, err := lease(s, name)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if other, ok := holders[address]; ok || address == s.Gateway || !s.Subnet.Contains(address) {
				t.Errorf("%s is %q's and %q's", address, name, other)
			}
			holders[address] = name
		})
	}
	pods.Wait()
}

// A full subnet has no address to assign. A released address is assigned again, but last.
func TestAddressesComeBack(t *testing.T) {
	t.Parallel()
	s := testSettings(t, "198.18.128.0/29") // five for pods
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if _, err := lease(s, name); err != nil {
			t.Fatal(err)
		}
	}
	if address, err := lease(s, "f"); err == nil {
		t.Errorf("f got %s of a full subnet", address)
	}
	if err := release(s, "b"); err != nil {
		t.Fatal(err)
	}
	if err := release(s, "nobody"); err != nil {
		t.Error(err)
	}
	if address, err := lease(s, "f"); err != nil || address != netip.MustParseAddr("198.18.128.3") {
		t.Errorf("f got %s, %v, want what was b's", address, err)
	}
	for _, name := range []string{"a", "c"} {
		if err := release(s, name); err != nil {
			t.Fatal(err)
		}
	}
	if address, err := lease(s, "g"); err != nil || address != netip.MustParseAddr("198.18.128.4") {
		t.Errorf("g got %s, %v, want c's, which follows the one that was given last", address, err)
	}
}

// A run that is killed before it has written who has an address does not use the address up.
func TestAnAddressThatNobodyHasIsAssigned(t *testing.T) {
	t.Parallel()
	s := testSettings(t, "198.18.128.0/29")
	if err := os.WriteFile(filepath.Join(s.Leases, "198.18.128.2"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := lease(s, string(rune('a'+i))); err != nil {
			t.Errorf("pod %d of five: %v", i+1, err)
		}
	}
}
