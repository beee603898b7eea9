package sim

import (
	"fmt"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// addresses hands out one address of a network to each object, by UID.
type addresses struct {
	network netip.Prefix

	mu    sync.Mutex
	taken map[netip.Addr]types.UID
	of    map[types.UID]netip.Addr
	last  netip.Addr
}

func newAddresses(network netip.Prefix) *addresses {
	return &addresses{
		network: network.Masked(),
		taken:   map[netip.Addr]types.UID{},
		of:      map[types.UID]netip.Addr{},
		last:    network.Masked().Addr(),
	}
}

// claim returns the address of uid: the one that it has, or the next that is free.
func (a *addresses) claim(uid types.UID) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if address, ok := a.of[uid]; ok {
		return address.String(), nil
	}
	address, ok := a.free()
	if !ok {
		return "", fmt.Errorf("all addresses of %s are taken", a.network)
	}
	a.taken[address], a.of[uid], a.last = uid, address, address
	return address.String(), nil
}

// reserve notes an address that uid has been given before, perhaps by an earlier process.
// One that is of another network, or another client's, is not taken over.
func (a *addresses) reserve(uid types.UID, has string) {
	address, err := netip.ParseAddr(has)
	if err != nil || !a.network.Contains(address) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, taken := a.taken[address]; taken {
		return
	}
	if _, has := a.of[uid]; !has {
		a.taken[address], a.of[uid] = uid, address
	}
}

// free finds the next address after the last one given. The first and the last address of
// the network are left out: they look like a network's and a broadcast address.
func (a *addresses) free() (netip.Addr, bool) {
	first := a.network.Addr()
	wrapped := false
	for next := a.last.Next(); ; next = next.Next() {
		last := !a.network.Contains(next.Next())
		if last && wrapped {
			return netip.Addr{}, false
		}
		if last {
			next, wrapped = first, true
			continue
		}
		if _, taken := a.taken[next]; !taken {
			return next, true
		}
	}
}

// release frees the address of uid, if it has one.
func (a *addresses) release(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(uid)
}

// retain frees the addresses of all objects but those in uids.
func (a *addresses) retain(uids sets.Set[types.UID]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for uid := range a.of {
		if !uids.Has(uid) {
			a.drop(uid)
		}
	}
}

func (a *addresses) drop(uid types.UID) {
	if address, ok := a.of[uid]; ok {
		delete(a.taken, address)
		delete(a.of, uid)
	}
}
