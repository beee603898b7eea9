// Package view shows the state of an operator under `operon up`: as a live display on a terminal, and otherwise as plain
// lines, one for each change.
//
// A [State] contains everything to show. [Render] returns the display of a State. It is a pure function of its arguments, so
// that tests can compare text. [Terminal] updates the display in place on the screen, and [Plain] determines the changes from
// one State to the next.
package view

import (
	"time"

	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// State contains everything to show at a moment.
type State struct {
	// Now is the time of the state.
	Now time.Time
	// Project is the name of the operator, and Cluster the name of its cluster.
	Project, Cluster string
	Operator         Operator
	// Problems are the problems to solve, the most urgent first.
	Problems []Problem
	Tree     tree.Snapshot
	// Unseen are the kinds that may not be watched.
	Unseen []string
	// Log holds the last lines of the operator's log.
	Log []string
	// Hint is the last line: what the user can do.
	Hint string
}

// Phase is the phase of the operator's process.
type Phase string

// The phases.
const (
	Starting Phase = "starting"
	Running  Phase = "running"
	// Waiting is the phase between an unexpected end and the next start.
	Waiting Phase = "waiting to be started again"
)

// Operator is the operator's process.
type Operator struct {
	Phase Phase
	PID   int
	// Since is the time when the phase began.
	Since time.Time
	// Restarts is the number of unexpected ends.
	Restarts int
	// Rebuilding reports that a newer version is being compiled.
	Rebuilding bool
	// Reconciles is the number since the start, and PerSecond the current rate. Both are negative if the operator does not report
	// them.
	Reconciles, PerSecond float64
}

// Problem is a problem that the author has to solve.
type Problem struct {
	Title string
	Lines []string
}
