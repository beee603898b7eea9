// Package view shows the state of an operator under `operon up`: as a live picture on a terminal, and as plain lines,
// one for each change, elsewhere.
//
// A [State] is all that there is to show. [Render] makes the picture from it, a pure
// function of its arguments, so that tests compare text; [Terminal] keeps the picture in
// its place on the screen, and [Plain] finds out what changed from one State to the next.
package view

import (
	"time"

	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// State is all that there is to show at a moment.
type State struct {
	// Now is the moment.
	Now time.Time
	// Project is the operator's name, Cluster how its cluster is called.
	Project, Cluster string
	Operator         Operator
	// Problems to be solved, the most pressing first.
	Problems []Problem
	Tree     tree.Snapshot
	// Unseen are kinds that may not be looked at.
	Unseen []string
	// Log are the operator's last lines.
	Log []string
	// Hint is the last line: what can be done.
	Hint string
}

// Phase of the operator's process.
type Phase string

// The phases.
const (
	Starting Phase = "starting"
	Running  Phase = "running"
	// Waiting is the time between an end that nobody asked for and the next start.
	Waiting Phase = "waiting to be started again"
)

// Operator is the operator's process.
type Operator struct {
	Phase Phase
	PID   int
	// Since is when the phase began.
	Since time.Time
	// Restarts counts the ends that nobody asked for.
	Restarts int
	// Rebuilding reports that a newer version is being compiled.
	Rebuilding bool
	// Reconciles since the start, and a second now; both are negative when the operator
	// does not tell.
	Reconciles, PerSecond float64
}

// Problem is something that the author has to do something about.
type Problem struct {
	Title string
	Lines []string
}
