package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/operon-framework/operon/cluster/internal/node"
	"github.com/operon-framework/operon/cluster/internal/pki"
)

// ServeVerb is the hidden command with which the binary runs a cluster in a separate process.
const ServeVerb = "serve"

// readyFD is the file descriptor to which the cluster's process reports, see Serve.
const readyFD = 3

// Ready returns the pipe that Up left open for the process in which Serve runs.
func Ready() io.WriteCloser { return os.NewFile(readyFD, "ready") }

// Up starts the cluster and removes the files of a killed one except its log, or returns the running cluster. started reports
// whether it was started. If ctx ends early, nothing is left running.
func Up(ctx context.Context, name string, spec Spec) (facts Facts, started bool, err error) {
	f, err := openFolder(name)
	if err != nil {
		return Facts{}, false, err
	}
	if err := spec.complete(); err != nil {
		return Facts{}, false, err
	}
	if err := f.checkSockets(spec.Node); err != nil {
		return Facts{}, false, err
	}
	starting, err := lock(ctx, f.startLock())
	if err != nil {
		return Facts{}, false, err
	}
	defer starting.Close()
	running, err := f.runs(ctx)
	if err != nil {
		return Facts{}, false, err
	}
	crash, merged := "", Facts{}
	if !running {
		merged, _ = f.readFacts() // of a cluster that was killed; they are removed below in any case
		if crash, err = f.keepCrash(); err != nil {
			return Facts{}, false, err
		}
		if err := f.launch(ctx, spec); err != nil {
			if merged.MergedInto != "" {
				err = errors.Join(err, unmerge(merged, name))
			}
			return Facts{}, false, errors.Join(err, f.remove())
		}
	}
	facts, err = f.readFacts()
	if err == nil {
		err = facts.damage()
	}
	if err == nil && facts.State != Running {
		err = fmt.Errorf("cluster %q exited right after startup; see %s", name, f.log())
	}
	if err == nil && merged.MergedInto != "" { // the entry there is that of the killed one
		facts.MergedInto, facts.MergedOver = merged.MergedInto, merged.MergedOver
		if err = f.writeFacts(facts); err == nil {
			facts, err = f.mergeInto(facts, merged.MergedInto, false)
		}
	}
	facts.Crash = crash
	return facts, !running, err
}

// runs reports whether the process of the cluster exists and is not about to end.
func (f folder) runs(ctx context.Context) (bool, error) {
	for until := time.Now().Add(timing.dyingDeadline); time.Now().Before(until); {
		running, err := held(f.runLock())
		if err != nil || !running || f.answers(ctx) {
			return running, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(10 * timing.lockPeriod):
		}
	}
	return false, fmt.Errorf("cluster %q is running but does not respond; stop it with `operon cluster down --cluster %s`", f.name, f.name)
}

// launch starts the process of the cluster and waits until it serves.
func (f folder) launch(ctx context.Context, spec Spec) error {
	if err := f.prepare(spec); err != nil {
		return err
	}
	log, err := os.OpenFile(f.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ready, report, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	process := exec.Command(self, ServeVerb, "--cluster", f.name)
	process.Stdout, process.Stderr = log, log
	process.ExtraFiles = []*os.File{report}
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // not affected by Ctrl-C in the terminal
	err = process.Start()
	report.Close()
	if err != nil {
		return fmt.Errorf("start the cluster's process: %w", err)
	}
	if err := f.awaitReport(ctx, process, ready); err != nil {
		return err
	}
	return process.Process.Release()
}

// prepare creates the directory. It first removes the files of a killed cluster.
func (f folder) prepare(spec Spec) error {
	if err := node.Clear(f.node()); err != nil {
		return err // the directory tells the next attempt what is left
	}
	if err := os.RemoveAll(f.path); err != nil {
		return err
	}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return err
	}
	if err := checkSpace(f.path); err != nil {
		return err
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	return pki.WriteFile(f.spec(), data)
}

// awaitReport returns nil when the process reported that it serves. If it returns an error, the process has ended.
func (f folder) awaitReport(ctx context.Context, process *exec.Cmd, ready *os.File) error {
	interrupted := context.AfterFunc(ctx, func() { process.Process.Kill() })
	defer interrupted()
	var report outcome
	err := json.NewDecoder(ready).Decode(&report)
	if err == nil && report.Error == "" && ctx.Err() == nil {
		return nil
	}
	process.Process.Kill()
	process.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("cluster %q: start interrupted: %w", f.name, context.Cause(ctx))
	}
	if report.Error != "" {
		return fmt.Errorf("cluster %q: %s", f.name, report.Error)
	}
	return fmt.Errorf("cluster %q: its process exited during startup:\n%s", f.name, strings.Join(last(lastLines, lines(f.log())), "\n"))
}

// lastLines is the number of log lines in an error message.
const lastLines = 10

// lines returns the lines of a log. It is only used to explain another error, so it returns a read error as a line.
func lines(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func last(count int, of []string) []string { return of[max(0, len(of)-count):] }
