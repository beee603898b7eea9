package up

import (
	"cmp"
	"fmt"

	"github.com/operon-framework/operon/internal/tools/up/view"
)

// display shows states.
type display interface {
	show(view.State)
	close()
}

// newDisplay returns the live display on a terminal, and plain lines otherwise.
func newDisplay(s *session) display {
	if terminal := view.NewTerminal(s.options.Stdout, view.StyleIf(*s.options.Colors)); terminal != nil {
		return picture{terminal}
	}
	return lines{view.NewPlain(s.options.Stdout, s.operator.since)}
}

type picture struct{ terminal *view.Terminal }

func (p picture) show(state view.State) { p.terminal.Draw(state) }

func (p picture) close() { p.terminal.Close() }

type lines struct{ plain *view.Plain }

func (l lines) show(state view.State) { l.plain.Update(state) }

func (l lines) close() {}

// farewell describes what remains in the cluster, and how to remove it.
func (s *session) farewell() {
	stop := ""
	if s.options.Where.IsLocal() {
		stop = ", `operon cluster down" + nameFlag(s.options.Where) + "` stops the cluster"
	}
	down := cmp.Or(s.options.Down, "operon down "+s.options.Dir)
	fmt.Fprintf(s.options.Stdout, "operator stopped; the cluster is still running: `%s` deletes the objects of the project%s\n", down, stop)
}

func nameFlag(where Where) string {
	if where.Name == "" || where.Name == "default" {
		return ""
	}
	return " --cluster " + where.Name
}
