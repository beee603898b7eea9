package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Standing is the progress at a moment.
type Standing struct {
	// Now is the moment. Began is when the first plan began, and zero before that.
	Now, Began time.Time
	// Until is the end of the time budget. It is zero if there is no budget.
	Until time.Time
	// Done and Planned are numbers of plans. While Planned is 0, only At is shown.
	Done, Planned int
	Findings      int
	// At is the current activity: the name of the current plan, or "learning what the operator does".
	At string
}

// Progress prints the progress: on a terminal in one line that is updated, elsewhere in
// a new line every few seconds. It is safe for concurrent use.
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

// NewProgress returns a Progress that writes to out. It calls look for the width each time, because
// users resize terminals.
func NewProgress(out io.Writer, terminal bool, look func() Look) *Progress {
	return &Progress{out: out, terminal: terminal, look: look}
}

// Update shows a standing, unless another one was shown just before. The last standing, in which all plans
// are done, is always shown.
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

// Close erases the line, so that the next output begins in its place. It may be called twice, and
// concurrently with Update, for example when the user interrupts. Nothing is written afterwards.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.stopped = true
}

// Escape sequences: move the cursor to the start of the line, and erase the text after the cursor. A new line is written
// over the previous one without blanking it first, so that it does not flicker.
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
	// A line with the full width of the terminal would wrap.
	io.WriteString(p.out, toBegin+p.now.line(look, look.Columns()-1)+clear)
	p.drawn = true
}

// line formats a standing in at most width columns. If there is not enough room, the name of the current plan is cut.
func (s Standing) line(look Look, width int) string {
	if s.Planned == 0 {
		return terminal.CutMiddle(terminal.Line(s.At), width)
	}
	s.Planned = max(s.Planned, s.Done) // a replay repeats its test case
	parts := []string{fmt.Sprintf("%d/%d test cases", s.Done, s.Planned)}
	if spent := s.Now.Sub(s.Began); s.Done > 0 && spent > 0 {
		parts = append(parts, fmt.Sprintf("%.1f/s", float64(s.Done)/spent.Seconds()))
	}
	if left, known := s.left(); known {
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	head, found := strings.Join(parts, ", "), "no findings"
	if s.Findings > 0 {
		found = plural.Count(s.Findings, "finding")
	}
	room := width - terminal.Width(head+found) - 4
	text := head + "  " + found
	if s.Findings > 0 {
		text = head + "  " + look.Paint(red, found)
	}
	if at := terminal.Line(s.At); at != "" && room > 8 {
		text += "  " + look.Paint(dim, terminal.CutMiddle(at, room))
	}
	return text
}

// left returns the time until the budget is used up, or until all plans are done if that is sooner. It returns false if
// neither is known.
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
