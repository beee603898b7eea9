package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/bench/internal/report"
)

// light is the operator with two children that cost the cluster little, for many objects.
type light struct{}

// Compose implements operon.Composer.
func (light) Compose(_ context.Context, site *Site, out *operon.Composition) error {
	out.Child(configMapOf(site))
	out.Child(&corev1.Secret{TypeMeta: typeOf("Secret", "v1"), ObjectMeta: metaOf(site), StringData: map[string]string{"page": site.Spec.Page}})
	return nil
}

// many measures the operator written with Operon alone, with objects that have two children each: no other operator has to
// converge as many objects first.
func many(ctx context.Context, s settings) (err error) {
	fmt.Fprintln(os.Stderr, "create the objects")
	c, err := startSites(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	m := &measurement{}
	fmt.Fprintln(os.Stderr, "converge")
	running, err := m.converge(ctx, c, "operon", s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ignoreExit(running.stop())) }()
	fmt.Fprintln(os.Stderr, "repair")
	if m.drifts, err = driftAll(ctx, c.Client, s); err != nil {
		return err
	}
	if err := ignoreExit(running.stop()); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "restart")
	restarted, began := c.audit.now(), time.Now()
	if running, err = c.start(ctx, "operon", s); err != nil {
		return err
	}
	used, err := c.calm(ctx, running)
	if err != nil {
		return err
	}
	took := time.Since(began)
	counts, err := c.audit.count(restarted)
	if err != nil {
		return err
	}
	m.restart = counts[write] + counts[event]
	whole, err := report.Usage(c.PID)
	if err != nil {
		return err
	}
	table := m.alone(s, took, used, whole)
	if s.output == "json" {
		return json.NewEncoder(os.Stdout).Encode(table)
	}
	fmt.Printf("%d objects with two children each\n\n", s.objects)
	return report.Write(os.Stdout, "–", table)
}

// alone returns the figures of an operator without a peer. restart is how long it worked after it was started again, restarted what it
// used, and whole what the cluster uses.
func (m *measurement) alone(s settings, restart time.Duration, restarted, whole report.Process) []report.Figure {
	figure := func(name, value string) report.Figure {
		return report.Figure{Name: name, Operon: value, Met: report.None}
	}
	objects := float64(s.objects)
	none := report.Figure{Name: "writes after a restart", Operon: report.Count(m.restart), Goal: "0", Met: report.Judge(m.restart == 0)}
	return []report.Figure{
		figure("from the start of the operator until all objects are ready", report.Seconds(m.converged)),
		figure("objects converged a second", fmt.Sprintf("%.0f /s", objects/m.converged.Seconds())),
		figure("requests for an object, events aside", fmt.Sprintf("%.2f", float64(m.writes+m.reads)/objects)),
		figure("CPU of the operator for an object", fmt.Sprintf("%.2f ms", m.used.CPU.Seconds()*1000/objects)),
		figure("peak memory of the operator (resident)", report.Megabytes(m.used.Peak)),
		none,
		figure("from the restart until the operator is idle", report.Seconds(restart)),
		figure("… its CPU", report.Seconds(restarted.CPU)),
		figure("… its memory then, and at its peak (resident)", report.Megabytes(restarted.Resident)+", "+report.Megabytes(restarted.Peak)),
		figure("drift repaired, median", report.Seconds(report.Median(m.drifts))),
		report.Within("drift repaired, p99", []time.Duration{p99(m.drifts)}, time.Second),
		figure("memory of the cluster (resident)", report.Megabytes(whole.Resident)),
	}
}

// busy is the share of one processor below which an operator is idle.
const busy = 0.05

// calm returns when an operator has neither sent requests nor worked for a while: one that has just started works on all objects, without requests.
func (c *sites) calm(ctx context.Context, o *operator) (report.Process, error) {
	for {
		before, err := report.Usage(o.process.Process.Pid)
		if err != nil {
			return before, err
		}
		n, err := c.requestsDuring(ctx, quiet)
		if err != nil {
			return before, err
		}
		after, err := report.Usage(o.process.Process.Pid)
		if err != nil || n == 0 && (after.CPU-before.CPU).Seconds() < busy*quiet.Seconds() {
			return after, err
		}
	}
}
