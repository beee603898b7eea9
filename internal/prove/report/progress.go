package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Standing is how far the work is at a moment.
type Standing struct {
	// Now is the moment, Began that at which the first plan began, zero before.
	Now, Began time.Time
	// Until is when the budget is used up, zero where there is none.
	Until time.Time
	// Done and Planned count plans. Before any is planned, At alone is shown.
	Done, Planned int
	Findings      int
	// At is what is being done: the name of the plan at work, or "learning what the operator does".
	At string
}

// Progress says how far the work is: on a terminal in one line that is written again, elsewhere in
// a line every few seconds. It may be used by several goroutines.
type Progress struct {
	out      io.Writer
	terminal bool
	look     func() Look

	mu      sync.Mutex
	last    time.Time
	at      string
	drawn   bool
	now     Standing
	stopped bool
}

// NewProgress returns a Progress that writes to out. Look is asked for the width each time, as
// people resize terminals.
func NewProgress(out io.Writer, terminal bool, look func() Look) *Progress {
	return &Progress{out: out, terminal: terminal, look: look}
}

// Update shows a standing, unless another one was shown just before. The last one is shown in any
// case: that of which all plans are done.
func (p *Progress) Update(s Standing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	every := timing.everyPlain
	if p.terminal {
		every = timing.everyTerminal
	}
	p.now = s
	phase := s.Planned == 0 && s.At != p.at
	whole := s.Planned > 0 && s.Done == s.Planned
	if p.stopped || s.Now.Sub(p.last) < every && !phase && !whole && !p.last.IsZero() {
		return
	}
	p.last, p.at = s.Now, s.At
	p.draw()
}

// Close takes the line away, so that what follows begins where it was. It may be called twice, and
// while others call Update, as when the user interrupts: nothing is written afterwards.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.stopped = true
}

// Escape sequences: to the line's begin, and what is behind the cursor away. The line is written
// over the one before and not blanked first, so that it does not flicker.
const (
	toBegin = "\r"
	clear   = "\x1b[K"
)

func (p *Progress) erase() {
	if p.drawn {
		io.WriteString(p.out, toBegin+clear)
		p.drawn = false
	}
}

func (p *Progress) draw() {
	look := p.look()
	if !p.terminal {
		look.Colour = false
		fmt.Fprintln(p.out, p.now.line(look, 1<<20))
		return
	}
	// A line as wide as the terminal would wrap.
	io.WriteString(p.out, toBegin+p.now.line(look, look.width()-1)+clear)
	p.drawn = true
}

// line is a standing in at most width columns. The plan at work is what is cut.
func (s Standing) line(look Look, width int) string {
	if s.Planned == 0 {
		return clip(line(s.At), width)
	}
	parts := []string{fmt.Sprintf("%d/%d test cases", s.Done, s.Planned)}
	if spent := s.Now.Sub(s.Began); s.Done > 0 && spent > 0 {
		parts = append(parts, fmt.Sprintf("%.1f/s", float64(s.Done)/spent.Seconds()))
	}
	if left, known := s.left(); known {
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	head, found := strings.Join(parts, ", "), "no findings"
	if s.Findings > 0 {
		found = counted(s.Findings, "finding")
	}
	room := width - columns(head+found) - 4
	text := head + "  " + found
	if s.Findings > 0 {
		text = head + "  " + look.paint(red, found)
	}
	if at := line(s.At); at != "" && room > 8 {
		text += "  " + look.paint(dim, clip(at, room))
	}
	return text
}

// left is the time until the budget is used up, or until all plans are done if that is sooner.
func (s Standing) left() (time.Duration, bool) {
	left, known := time.Duration(0), false
	if !s.Until.IsZero() {
		left, known = max(0, s.Until.Sub(s.Now)), true
	}
	if spent := s.Now.Sub(s.Began); s.Done > 0 && spent > 0 {
		rest := time.Duration(float64(spent) / float64(s.Done) * float64(s.Planned-s.Done))
		if !known || rest < left {
			return rest, true
		}
	}
	return left, known
}
