package requestlog

import (
	"cmp"
	"slices"
	"sync"
)

// DefaultKeep is the default number of requests that a [Log] stores, about 10 MB.
const DefaultKeep = 20_000

// Log stores requests. It is safe for concurrent use.
type Log struct {
	keep int

	mu      sync.Mutex
	seq     int64
	kept    []Request
	oldest  int
	dropped int64
	ordered []Request // the result of Requests, nil after a change
}

// NewLog returns a log that stores the last keep requests in memory. 0 means [DefaultKeep].
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
	l.ordered = nil
	if len(l.kept) < l.keep {
		l.kept = append(l.kept, r)
		return
	}
	l.kept[l.oldest] = r
	l.oldest = (l.oldest + 1) % l.keep
	l.dropped++
}

// Requests returns the requests in memory, in the order in which they were received. A watch is included after
// it has ended. Callers must not modify the result.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ordered == nil {
		l.ordered = slices.SortedFunc(slices.Values(l.kept), func(a, b Request) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	return l.ordered
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
