package requestlog

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Format is the first line's, in what a [Log] writes. Another one cannot be read.
const Format = "operon-record/1"

// DefaultKeep is how many requests a [Log] keeps where nothing else is said, some 10 MB.
const DefaultKeep = 20_000

// header is the first line.
type header struct {
	Format string `json:"format"`
}

// Log collects requests. It may be used by several goroutines.
type Log struct {
	keep int

	mu      sync.Mutex
	seq     int64
	kept    []Request
	oldest  int
	dropped int64
	lines   *json.Encoder
	err     error
}

// NewLog returns a log that keeps the last requests in memory, [DefaultKeep] where keep is 0, and
// writes all of them to a writer as JSON lines, unless that is nil.
func NewLog(keep int, lines io.Writer) *Log {
	if keep <= 0 {
		keep = DefaultKeep
	}
	l := &Log{keep: keep}
	if lines != nil {
		l.lines = json.NewEncoder(lines)
		l.err = l.lines.Encode(header{Format})
	}
	return l
}

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
	if l.lines != nil && l.err == nil {
		l.err = l.lines.Encode(r)
	}
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
	all := slices.Clone(l.kept)
	inOrder(all)
	return all
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

// Err returns the first error of the writer, after which no more lines were written.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Read reads what a [Log] wrote, in the order in which the requests came. A last line that was
// cut off is left out: it is what a run that was killed leaves.
func Read(lines io.Reader) ([]Request, error) {
	reader := bufio.NewReader(lines)
	var head header
	if err := next(reader, &head); err != nil {
		return nil, fmt.Errorf("line 1 is not that of a record: %w", err)
	}
	if head.Format != Format {
		return nil, fmt.Errorf("the record has the format %q, this program reads %q: record it again", head.Format, Format)
	}
	var all []Request
	for line := 2; ; line++ {
		var r Request
		err := next(reader, &r)
		if errors.Is(err, io.EOF) {
			inOrder(all)
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of the record: %w", line, err)
		}
		all = append(all, r)
	}
}

// next reads a line. A last one without an end is io.EOF.
func next(reader *bufio.Reader, into any) error {
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

func inOrder(requests []Request) {
	slices.SortFunc(requests, func(a, b Request) int { return cmp.Compare(a.Seq, b.Seq) })
}
