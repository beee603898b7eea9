package deploy

import (
	"bufio"
	"errors"
	"hash/maphash"
	"io"
	"maps"
	"strings"
	"time"
)

// stream is the log of one container, from its start to its end.
type stream struct {
	busy bool
	// ended reports that the log was read to its end. If the container still runs, only the connection ended.
	ended bool
	told  string
	// whole means that nothing is left out at the beginning: of containers that start later, everything is new.
	whole bool

	// second is the latest second in which a line was written, by the node's clock. After a broken connection the log is read
	// from this second on, because the API server accepts only whole seconds.
	second time.Time
	// shown counts the lines of that second by their hashes, because they are received again.
	shown map[uint64]int
}

// seed is the seed of the hashes of lines.
var seed = maphash.MakeSeed()

// reading is a stream on one connection, whose lines have timestamps.
type reading struct {
	*stream
	again map[uint64]int // lines that are received again
	// date is the timestamp of the line whose next part follows, or empty at the beginning of a line.
	date string
	at   time.Time
	// dated reports that lines are shown with their timestamps.
	dated bool
}

func (s *stream) reading(dated bool) *reading {
	return &reading{stream: s, again: maps.Clone(s.shown), dated: dated}
}

// fresh removes the timestamp from a line, unless it is to be shown, and reports whether the line was not shown before. It
// gets a long line in parts; more reports that another part follows.
func (r *reading) fresh(part string, more bool) (text string, is bool) {
	shown := ""
	if r.date == "" {
		date, rest, _ := strings.Cut(part, " ")
		at, err := time.Parse(time.RFC3339Nano, date)
		if err != nil {
			return part, true // a message of the node about the log
		}
		r.date, r.at, part = date, at, rest
		if r.dated {
			shown = date + " "
		}
	}
	key := maphash.String(seed, r.date+" "+part)
	at := r.at
	if !more {
		r.date = ""
	}
	if r.again[key] > 0 {
		r.again[key]--
		return part, false
	}
	r.note(at.Truncate(time.Second), key)
	return shown + part, true
}

// note records a line that would be received again. Lines of standard output and standard error may be out of order by some
// nanoseconds.
func (s *stream) note(second time.Time, key uint64) {
	if second.After(s.second) {
		s.second, s.shown = second, map[uint64]int{}
	}
	if second.Equal(s.second) {
		s.shown[key]++
	}
}

// readPart reads a line without its line ending, or the part of it that fits into the buffer. A part of a line before a
// broken connection is not a line, and is received again.
func readPart(lines *bufio.Reader) (part string, more bool, err error) {
	read, err := lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return string(read), true, nil
	}
	if err != nil && (len(read) == 0 || !errors.Is(err, io.EOF)) {
		return "", false, err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(read), "\n"), "\r"), false, nil
}
