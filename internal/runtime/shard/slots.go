package shard

import (
	"context"
	"maps"
	"slices"
)

// slots are the hash slots that this replica works on. Fields are guarded by the member's lock.
type slots struct {
	*base
	// grants are the fencing tokens of the slots that are worked on; drained are the slots that wait to be given away.
	grants  map[int]*grant
	drained map[int]bool
	// followers are notified of slots that open and close.
	followers map[follower]bool
}

// follower is notified when work on a slot begins and ends. It must not block.
type follower interface {
	opened(slot int)
	closed(slot int)
}

// work opens slots. The lock is held, and the lease of this replica is valid.
func (s *slots) work(slots []int) {
	for _, slot := range slots {
		if g := s.grants[slot]; g != nil {
			continue
		}
		delete(s.drained, slot)
		s.grants[slot] = newGrant()
		for f := range s.followers {
			f.opened(slot)
		}
	}
}

// drain stops work on slots, and wakes the member when that has ended. The lock is held.
func (s *slots) drain(life context.Context, slots []int) {
	for _, slot := range slots {
		g := s.grants[slot]
		if g == nil {
			s.drained[slot] = true
			s.wake()
			continue
		}
		if g.isClosing() {
			continue
		}
		g.close()
		go func() {
			g.drain(life, s.timing.drain)
			s.drop(slot, g)
		}()
	}
}

// drop ends a grant that is drained.
func (s *slots) drop(slot int, g *grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.wake()
	if s.grants[slot] != g {
		return
	}
	delete(s.grants, slot)
	s.drained[slot] = true
	for f := range s.followers {
		f.closed(slot)
	}
}

// revoke ends work on lost slots at once. The lock is held.
func (s *slots) revoke(lost func(slot int) bool) {
	for slot, g := range maps.Clone(s.grants) {
		if !lost(slot) {
			continue
		}
		g.revoke()
		delete(s.grants, slot)
		for f := range s.followers {
			f.closed(slot)
		}
	}
	maps.DeleteFunc(s.drained, func(slot int, _ bool) bool { return lost(slot) })
}

// revokeAll ends all work at once.
func (s *slots) revokeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoke(func(int) bool { return true })
}

// follow notifies a follower of the open slots, and of each that opens or closes from now on.
func (s *slots) follow(f follower) (unfollow func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers[f] = true
	for _, slot := range slices.Sorted(maps.Keys(s.grants)) {
		f.opened(slot)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.followers, f)
	}
}

// interrupt ends the running passes. Refused writes would not stop their work outside the API server. The lock is held.
func (s *slots) interrupt() {
	for _, g := range s.grants {
		g.interrupt()
	}
}
