package check

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Options are settings of Run.
type Options struct {
	// Jobs is the number of bundles that are checked at a time. The default is the number of processors.
	Jobs int
	// Limit is the time for one bundle, after which it counts as a crash. The default is one minute.
	Limit time.Duration
	// Progress is called after each bundle, from several goroutines. It may be nil.
	Progress func(done, all int, dir string)
}

// Run checks all bundles and packages in directories. It fails if they contain none, or if the context ends. All other errors are findings.
func Run(ctx context.Context, dirs []string, options Options) (*Report, error) {
	if options.Jobs < 1 {
		options.Jobs = runtime.GOMAXPROCS(0)
	}
	if options.Limit == 0 {
		options.Limit = time.Minute
	}
	c := &checker{Options: options, ctx: ctx, report: &Report{Bundles: []Bundle{}, Packages: []Package{}}}
	var problems []error
	found := bundle.Search(dirs, func(dir string, err error) {
		problems = append(problems, err)
		c.broken(dir, err)
	})
	if len(found.Bundles)+len(found.Packages) == 0 {
		return nil, problems[0]
	}
	c.all = len(found.Bundles) + len(found.Packages)
	if err := c.checkAll(found); err != nil {
		return nil, err
	}
	c.checkGraphs()
	c.findNeeds()
	c.findShared()
	c.report.finish()
	return c.report, ctx.Err()
}

// checker is a run.
type checker struct {
	Options
	ctx context.Context // of Run

	mu      sync.Mutex
	report  *Report
	entries []*entry
	done    int
	all     int // bundles in packages are added when they are found
}

// entry is what the checks of several bundles need from one of them.
type entry struct {
	result int // index in the report, which grows
	bundle *bundle.Bundle
	facts
}

func (c *checker) checkAll(found *bundle.Found) error {
	var group errgroup.Group
	group.SetLimit(c.Jobs)
	for _, dir := range found.Bundles {
		group.Go(func() error {
			if light := c.one(dir, bundle.Read); light != nil {
				light.Forget() // each is a bundle of its own
			}
			return c.ctx.Err()
		})
	}
	for _, dir := range found.Packages {
		group.Go(func() error {
			c.pack(dir)
			return c.ctx.Err()
		})
	}
	return group.Wait()
}

// broken adds the result for a directory that cannot be read.
func (c *checker) broken(dir string, err error) {
	var all findings
	all.add(unreadable, rule.Place{File: dir, Line: 1, Column: 1}, "%v", err)
	c.add(Bundle{Dir: dir}, all)
}

// add adds the result for a bundle and returns its index.
func (c *checker) add(made Bundle, all findings) int {
	made.Findings, made.Omitted, made.Outcome = settle(all)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Bundles = append(c.report.Bundles, made)
	return len(c.report.Bundles) - 1
}

func (c *checker) finished(dir string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if c.Progress != nil {
		c.Progress(c.done, c.all, dir)
	}
}

// inspected is the result of the checks of one bundle.
type inspected struct {
	result   Bundle
	findings findings
	light    *bundle.Bundle // nil: the bundle has no CSV
	facts    facts
	err      error
}

// one checks a bundle and returns what is left of it, or nil. Its result is in the report afterwards.
func (c *checker) one(dir string, read func(dir string) (*bundle.Bundle, error)) *bundle.Bundle {
	defer c.finished(dir)
	if c.ctx.Err() != nil {
		return nil
	}
	made, err := guarded(c.Limit, func() inspected { return inspect(dir, read) })
	if err != nil {
		made = inspected{result: Bundle{Dir: dir}}
		made.findings.add(crashed, rule.Place{File: dir, Line: 1, Column: 1}, "%v", err)
	}
	if made.err != nil {
		c.broken(dir, made.err)
		return nil
	}
	at := c.add(made.result, made.findings)
	if made.light == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, &entry{result: at, bundle: made.light, facts: made.facts})
	return made.light
}

// inspect runs the checks of one bundle.
func inspect(dir string, read func(dir string) (*bundle.Bundle, error)) inspected {
	b, err := read(dir)
	if err != nil {
		return inspected{err: err}
	}
	made := inspected{result: Bundle{Dir: dir, Package: b.Package}, findings: converted(b.Lint())}
	checkRoundTrip(b, &made.findings)
	if b.CSV == nil {
		return made
	}
	made.result.Name, made.result.Version = b.CSV.Name, b.CSV.Spec.Version
	for _, mode := range modes {
		if b.CSV.Spec.Supports(bundle.InstallMode(mode)) {
			made.result.InstallModes = append(made.result.InstallModes, string(mode))
		}
	}
	checkRendering(b, &made.findings)
	made.facts = factsOf(b, &made.findings)
	made.light = b.Light()
	return made
}

// converted makes warnings of errors about what the lifecycle manager converts. What it cannot convert has another error.
func converted(all findings) findings {
	for i := range all {
		if slices.Contains(convertedRules, all[i].Rule) {
			all[i].Severity, all[i].Reason = rule.Warning, "The lifecycle manager installs it in the current version. Other tools do not, because no supported version of Kubernetes accepts it."
		}
	}
	return all
}

// convertedRules are the rules about CRDs in v1beta1, and about other objects in removed versions.
var convertedRules = []string{"crd-v1beta1", "converted-api"}

// pack checks a package in the older layout, one version after the other.
func (c *checker) pack(dir string) {
	p, versions, err := bundle.DescribePackage(dir)
	if err != nil {
		c.broken(dir, err)
		c.finished(dir)
		return
	}
	c.mu.Lock()
	c.all += len(versions) - 1
	c.mu.Unlock()
	for _, at := range versions {
		if light := c.one(at, p.Read); light != nil {
			p.Bundles = append(p.Bundles, light)
		}
	}
	if len(versions) == 0 {
		c.finished(dir)
	}
	made := Package{Name: p.Name, Dir: dir}
	all, err := guarded(c.Limit, func() findings { return p.Lint() })
	if err != nil {
		all.add(crashed, rule.Place{File: dir, Line: 1, Column: 1}, "%v", err)
	}
	channels := p.ChannelsByCSV()
	for _, b := range p.Bundles {
		b.Channels, b.DefaultChannel = channels[b.CSV.Name], p.DefaultChannel
		b.Forget()
	}
	made.Findings, _, made.Outcome = settle(all)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Packages = append(c.report.Packages, made)
}

// guarded runs work for at most limit. It returns an error if work panics or takes longer; it then continues in the background, because
// nothing can stop it.
func guarded[T any](limit time.Duration, work func() T) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var made result
		defer func() {
			if cause := recover(); cause != nil {
				made.err = fmt.Errorf("panic: %v, in %s", cause, panicked())
			}
			done <- made
		}()
		made.value = work()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case made := <-done:
		return made.value, made.err
	case <-timer.C:
		var none T
		return none, fmt.Errorf("it took longer than %s", limit)
	}
}

// panicked returns the functions that led to the panic that is being recovered from, the innermost first.
func panicked() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var all []string
	for len(all) < 5 {
		frame, more := frames.Next()
		name := frame.Function[strings.LastIndex(frame.Function, "/")+1:]
		if !strings.HasPrefix(name, "runtime.") && name != "" {
			all = append(all, fmt.Sprintf("%s:%d", name, frame.Line))
		}
		if !more {
			break
		}
	}
	return strings.Join(slices.Compact(all), " ← ")
}
