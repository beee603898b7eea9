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
	// ended: the log was read to its end. Of a container that runs still, only the connection ended.
	ended bool
	told  string

	// second is the latest in which a line was written, by the clock of its node. After a broken connection the log
	// is read on from there, as the API server takes whole seconds only.
	second time.Time
	// shown counts the lines of that second, by hashes of them: they come once more then.
	shown map[uint64]int
}

// seed is that of hashes of lines.
var seed = maphash.MakeSeed()

// reading is a stream on one connection, whose lines have dates.
type reading struct {
	*stream
	again map[uint64]int // lines that come once more
	// date is that of the line whose next part comes, or empty before a line.
	date string
	at   time.Time
	// dated: lines are shown with their dates.
	dated bool
}

func (s *stream) reading(dated bool) *reading {
	return &reading{stream: s, again: maps.Clone(s.shown), dated: dated}
}

// fresh takes the date off a line, unless it is to be shown, and reports whether the line was not shown before. Of a long line it gets one part after
// the other; more tells that another follows.
func (r *reading) fresh(part string, more bool) (text string, is bool) {
	shown := ""
	if r.date == "" {
		date, rest, _ := strings.Cut(part, " ")
		at, err := time.Parse(time.RFC3339Nano, date)
		if err != nil {
			return part, true // the node says something about the log
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

// note remembers a line that would come once more. Lines of standard output and standard error may be some
// nanoseconds out of order.
func (s *stream) note(second time.Time, key uint64) {
	if second.After(s.second) {
		s.second, s.shown = second, map[uint64]int{}
	}
	if second.Equal(s.second) {
		s.shown[key]++
	}
}

// readPart reads a line without its end, or what of it fits into the buffer. What of a line came before the connection
// broke is no line: it comes once more.
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
