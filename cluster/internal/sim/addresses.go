package sim

import (
	"fmt"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// addresses assigns one address of a network to each object, by UID.
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

// claim returns the address of uid: the one that it already has, or the next free one.
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

// reserve records an address that uid already has, possibly from an earlier process. An address of another network or of
// another object is not recorded.
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

// free returns the next free address after the last assigned one. The first and the last address of the network are never
// assigned: they look like a network address and a broadcast address.
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

// release releases the address of uid, if it has one.
func (a *addresses) release(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(uid)
}

// retain releases the addresses of all objects except the ones in uids.
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
