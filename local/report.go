package local

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Intervals at which a build's progress is written.
const (
	terminalEvery = 200 * time.Millisecond
	plainEvery    = 15 * time.Second
)

// report writes the progress of a build: on a terminal one line that is overwritten, otherwise a line from time to
// time. It keeps the last lines of output for an error.
type report struct {
	program  string
	out      io.Writer
	terminal bool
	started  time.Time
	quit     chan struct{}
	ended    sync.WaitGroup

	mu       sync.Mutex
	doing    string
	compiled int
	expected int
	tail     []string
}

func newReport(program string, out io.Writer) *report {
	r := &report{program: program, out: out, terminal: isTerminal(out), started: time.Now(), quit: make(chan struct{}), doing: "starting"}
	fmt.Fprintf(out, "building the local Kubernetes (%s); the first time takes some minutes, later ones seconds\n", program)
	r.ended.Go(r.loop)
	return r
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func (r *report) loop() {
	every := plainEvery
	if r.terminal {
		every = terminalEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-r.quit:
			return
		case <-tick.C:
			r.write()
		}
	}
}

func (r *report) write() {
	r.mu.Lock()
	line := r.sentence(time.Since(r.started))
	r.mu.Unlock()
	if r.terminal {
		fmt.Fprintf(r.out, "\r\x1b[2K%s", line)
		return
	}
	fmt.Fprintln(r.out, line)
}

// sentence describes the phase, the packages and the time.
func (r *report) sentence(elapsed time.Duration) string {
	text := "  " + r.doing
	if r.compiled > 0 && r.expected > 0 {
		text += fmt.Sprintf(", %d of at most %d packages", r.compiled, r.expected)
	}
	if r.compiled > 0 && r.expected == 0 {
		text += fmt.Sprintf(", %d packages", r.compiled)
	}
	return text + fmt.Sprintf(", %s", elapsed.Round(time.Second))
}

func (r *report) phase(doing string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doing = doing
}

func (r *report) expect(packages int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected = packages
}

// line processes a line of the go command's output: of -v, a download, or an error.
func (r *report) line(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tail = append(r.tail, text); len(r.tail) > 20 {
		r.tail = r.tail[1:]
	}
	switch {
	case strings.HasPrefix(text, "go: downloading"):
		r.doing = "downloading modules"
	case text == clusterModule+"/cmd/"+r.program:
		r.doing = "linking"
	case text != "" && !strings.ContainsAny(text, " \t:"):
		r.compiled++
		r.doing = "compiling"
	}
}

func (r *report) last() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tail
}

func (r *report) stop() {
	close(r.quit)
	r.ended.Wait()
	if r.terminal {
		fmt.Fprint(r.out, "\r\x1b[2K")
	}
}

func (r *report) done() {
	r.phase("done")
	r.write()
}
