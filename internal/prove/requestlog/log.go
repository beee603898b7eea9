package requestlog

import (
	"cmp"
	"slices"
	"sync"
)

// DefaultKeep is how many requests a [Log] keeps where nothing else is said, some 10 MB.
const DefaultKeep = 20_000

// Log collects requests. It may be used by several goroutines.
type Log struct {
	keep int

	mu      sync.Mutex
	seq     int64
	kept    []Request
	oldest  int
	dropped int64
}

// NewLog returns a log that keeps the last requests in memory, [DefaultKeep] where keep is 0.
func NewLog(keep int) *Log { return &Log{keep: cmp.Or(keep, DefaultKeep)} }

// Number returns the number of the next request.
func (l *Log) Number() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	return l.seq
}

// Add adds a request that has ended.
func (l *Log) Add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) < l.keep {
		l.kept = append(l.kept, r)
		return
	}
	l.kept[l.oldest] = r
	l.oldest = (l.oldest + 1) % l.keep
	l.dropped++
}

// Requests returns those in memory, in the order in which they came. A watch is among them once
// it has ended.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(slices.Values(l.kept), func(a, b Request) int { return cmp.Compare(a.Seq, b.Seq) })
}

// Ended returns how many requests have been added so far.
func (l *Log) Ended() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.kept)) + l.dropped
}

// Dropped returns how many requests are no longer in memory.
func (l *Log) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}
