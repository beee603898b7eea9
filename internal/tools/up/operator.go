package up

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/tools/ports"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/process"
	"github.com/operon-framework/operon/internal/tools/up/view"
)

// operator runs the project's operator, one process at a time.
type operator struct {
	project *project.Project
	folder  *folder
	who     identity
	log     *process.Log
	args    []string // the author's own
	asked   bool     // the API server is on this machine, and can call the operator

	process     *process.Process
	ports       []*ports.Port // reserved for the process
	metricsPort int
	tells       bool // its metrics report the number of reconciles
	phase       view.Phase
	since       time.Time
	restarts    int
	pause       time.Duration
	rebuilding  bool
}

// start starts the operator that was built last.
func (o *operator) start() error {
	if err := o.keepPorts(3); err != nil {
		return err
	}
	metrics, health, webhooks := o.ports[0], o.ports[1], o.ports[2]
	place := project.Placing{Metrics: metrics.Address(), Health: health.Address()}
	if o.asked {
		place.Webhooks, place.Service = webhooks.Address(), o.who.name
	}
	o.log.Forget()
	o.metricsPort = metrics.Number
	flags := o.project.Flags(place)
	o.tells = slices.ContainsFunc(flags, func(flag string) bool { return strings.HasSuffix(flag, "="+metrics.Address()) })
	process, err := process.Start(process.Command{
		Path: o.folder.operator(),
		Args: append(flags, o.args...),
		Dir:  o.project.Dir,
		Env:  o.environment(),
		Log:  o.log,
	})
	if err != nil {
		o.leavePorts()
		return err
	}
	o.process, o.phase, o.since = process, view.Running, process.Started()
	return writeFile(o.folder.endpoint(), []byte(health.Address()))
}

// stop stops the operator and the processes that it started, if it runs.
func (o *operator) stop() {
	if o.process != nil {
		o.process.Stop(timing.stopGrace)
		o.process = nil
	}
	o.leavePorts()
}

// done returns a channel that is closed when the operator ends, or nil if it does not run.
func (o *operator) done() <-chan struct{} {
	if o.process == nil {
		return nil
	}
	return o.process.Done()
}

// ended records an unexpected end. It returns how the operator ended and the pause before the next start.
func (o *operator) ended() (process.Exit, time.Duration) {
	exit := o.process.Exit()
	o.process = nil
	o.restarts++
	o.pause = min(max(o.pause*2, timing.firstPause), timing.lastPause)
	if exit.After > timing.steady {
		o.pause = timing.firstPause
	}
	o.phase, o.since = view.Waiting, time.Now()
	return exit, o.pause
}

// environment returns the user's environment, with variables for the operator's cluster and identity.
func (o *operator) environment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "KUBERNETES_SERVICE_") {
			kept = append(kept, variable)
		}
	}
	return append(kept,
		"KUBECONFIG="+o.folder.kubeconfig(),
		"POD_NAMESPACE="+o.who.namespace,
		"POD_NAME="+o.who.name,
		"ENABLE_WEBHOOKS=false", // kubebuilder's switch: there are no serving certificates here
	)
}

// keepPorts reserves new ports for the next process.
func (o *operator) keepPorts(n int) error {
	o.leavePorts()
	for range n {
		port, err := ports.Reserve()
		if err != nil {
			return err
		}
		o.ports = append(o.ports, port)
	}
	return nil
}

func (o *operator) leavePorts() {
	for _, port := range o.ports {
		_ = port.Close() // it was only bound
	}
	o.ports = nil
}

// view returns the operator in the form that is shown.
func (o *operator) view(g *gauge) view.Operator {
	shown := view.Operator{Phase: o.phase, Since: o.since, Restarts: o.restarts, Rebuilding: o.rebuilding}
	if o.process != nil {
		shown.PID = o.process.PID()
	}
	shown.Reconciles, shown.PerSecond = g.count()
	return shown
}
