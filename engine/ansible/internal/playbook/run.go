package playbook

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/engine"
)

// run is one run of a role or playbook.
type run struct {
	id      string
	command command
	job     Job
	// exited receives the exit status of the process, or -1.
	exited chan int
	// told is closed when no more events come, by tell.
	told chan struct{}
	tell func()

	mu     sync.Mutex
	pid    int
	task   Task
	stats  *engine.RunResult
	failed []string
	// broken is an error because of which no stats are sent.
	broken  string
	requeue time.Duration
	open    string
}

// command is what a run is asked to do: see python/worker.py.
type command struct {
	Args []string `json:"args"`
	// More are further arguments, quoted as in a shell.
	More     string            `json:"more"`
	Playbook string            `json:"playbook"`
	Env      map[string]string `json:"env"`
	Dir      string            `json:"cwd"`
	Output   string            `json:"output"`
}

// event is a line that a run sends: see python/callback/operon.py.
type event struct {
	Task
	Event   string `json:"event"`
	Ack     bool   `json:"ack"`
	Message string `json:"message"`
	Ignored bool   `json:"ignored"`
	Period  string `json:"period"`
	Hosts   int    `json:"hosts"`
	OK      int64  `json:"ok"`
	Changed int64  `json:"changed"`
	Skipped int64  `json:"skipped"`
	Fails   int64  `json:"failures"`
	Unreach int64  `json:"unreachable"`
}

// Outcome is the end of a run.
type Outcome struct {
	// Result is nil if the run ended before its playbook did.
	Result *engine.RunResult
	// Failed is the error, or empty.
	Failed string
	// Requeue is the time after which the run asked to be repeated, or zero.
	Requeue time.Duration
	// Open is the reason why the result may depend on more than what the run asked the API server, or empty.
	Open string
}

// Job is what a run is asked to do.
type Job struct {
	// Object is the object for which the run takes place, for logs.
	Object string
	// Dir is the working directory.
	Dir string
	// Role or Playbook is the path of what runs.
	Role, Playbook string
	Vars           map[string]any
	Kubeconfig     []byte
	// Verbosity is the number of letters v that ansible-playbook is called with, at most 7.
	Verbosity int
	// Timeout is the maximum duration, not counting the start of the Python process.
	Timeout time.Duration
	// Began is called when a task begins, before the task sends requests.
	Began func(Task)
}

// Execute runs a playbook or role and returns its outcome. If ctx ends, so does the run.
func (w *Worker) Execute(ctx context.Context, job Job) (Outcome, error) {
	p, err := w.process(ctx)
	if err != nil {
		return Outcome{}, err
	}
	dir, err := os.MkdirTemp(filepath.Join(p.dir, "tmp"), "run-")
	if err != nil {
		return Outcome{}, err
	}
	defer os.RemoveAll(dir)
	r := &run{id: filepath.Base(dir), job: job, exited: make(chan int, 1), told: make(chan struct{})}
	r.tell = sync.OnceFunc(func() { close(r.told) })
	if r.command, err = w.prepare(dir, job); err != nil {
		return Outcome{}, err
	}
	if err := p.begin(r); err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, job.Timeout, fmt.Errorf("the run took longer than %s and was ended", job.Timeout))
	defer cancel()
	status, stopped := r.wait(ctx)
	r.listen()
	output, err := lastBytes(r.command.Output, w.options.ShowOutput)
	if err != nil {
		return Outcome{}, err
	}
	if w.options.ShowOutput {
		ctrl.Log.WithName("ansible").Info("run ended", "object", job.Object, "status", status, "output", output)
	}
	return r.outcome(status, stopped, output), nil
}

// prepare writes the files of a run.
func (w *Worker) prepare(dir string, job Job) (command, error) {
	vars, err := json.Marshal(job.Vars)
	if err != nil {
		return command{}, err
	}
	files := map[string][]byte{
		"kubeconfig": job.Kubeconfig, "vars.json": vars,
		"hosts": []byte("localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}\n"),
	}
	playbook := job.Playbook
	if job.Role != "" {
		play, err := json.Marshal([]any{map[string]any{"hosts": "localhost", "roles": []any{map[string]any{"role": job.Role}}}})
		if err != nil {
			return command{}, err
		}
		files["playbook.yml"], playbook = play, filepath.Join(dir, "playbook.yml")
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return command{}, err
		}
	}
	inventory := cmp.Or(os.Getenv("ANSIBLE_INVENTORY"), filepath.Join(dir, "hosts"))
	args := []string{"-i", inventory, "-e", "@" + filepath.Join(dir, "vars.json")}
	if job.Verbosity > 0 {
		args = append(args, "-"+strings.Repeat("v", min(job.Verbosity, 7)))
	}
	config := filepath.Join(dir, "kubeconfig")
	return command{
		Args: args, More: w.options.Arguments, Playbook: playbook, Dir: job.Dir, Output: filepath.Join(dir, "output"),
		Env: map[string]string{"KUBECONFIG": config, "K8S_AUTH_KUBECONFIG": config},
	}, nil
}

// wait waits until the process has exited. It returns the cause of the end of ctx if that ended the process.
func (r *run) wait(ctx context.Context) (status int, stopped error) {
	select {
	case status = <-r.exited:
		return status, nil
	case <-ctx.Done():
	}
	r.signal(syscall.SIGTERM)
	select {
	case status = <-r.exited:
	case <-time.After(timing.killGrace):
		r.signal(syscall.SIGKILL)
		status = <-r.exited
	}
	r.end()
	return status, context.Cause(ctx)
}

// listen waits for the events that the process sent before it exited. If it was killed, a process that it left behind may keep the
// connection open.
func (r *run) listen() {
	r.mu.Lock()
	connected := r.pid > 0
	r.mu.Unlock()
	if !connected {
		return
	}
	select {
	case <-r.told:
	case <-time.After(timing.killGrace):
	}
}

// signal sends a signal to the process group of the run.
func (r *run) signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pid > 0 {
		_ = syscall.Kill(-r.pid, s) // it may have ended
	}
}

// end ends all processes of the run that are left.
func (r *run) end() { r.signal(syscall.SIGKILL) }

// converse receives the events of a run.
func (r *run) converse(pid int, connection net.Conn, lines *bufio.Reader) {
	defer r.tell()
	r.mu.Lock()
	r.pid = pid
	r.mu.Unlock()
	encoded, err := json.Marshal(r.command)
	if err == nil {
		_, err = connection.Write(append(encoded, '\n'))
	}
	for err == nil {
		var line []byte
		if line, err = lines.ReadBytes('\n'); err != nil {
			return // the run has ended
		}
		var e event
		if err = json.Unmarshal(line, &e); err != nil {
			break
		}
		r.take(e)
		if e.Ack {
			_, err = connection.Write([]byte("\n"))
		}
	}
	r.mu.Lock()
	r.broken = cmp.Or(r.broken, fmt.Sprintf("the connection to the run failed: %v", err))
	r.mu.Unlock()
}

// take processes an event.
func (r *run) take(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Event {
	case "task":
		r.task = e.Task
		r.job.Began(e.Task)
		r.open = cmp.Or(r.open, e.Task.opens())
	case "failed":
		if !e.Ignored {
			r.failed = append(r.failed, e.Task.describe(e.Message))
		}
	case "error":
		r.broken = e.Message
	case "end":
		r.tell()
	case "requeue":
		period, err := time.ParseDuration(e.Period)
		if err != nil {
			r.broken = fmt.Sprintf("requeue_after: %v", err)
		}
		r.requeue = period
	case "open":
		r.open = cmp.Or(r.open, e.Message)
	case "debug":
		ctrl.Log.WithName("ansible").Info(e.Message, "task", e.Name, "role", e.Role)
	case "stats":
		r.stats = &engine.RunResult{OK: e.OK, Changed: e.Changed, Skipped: e.Skipped, Failures: e.Fails + e.Unreach, Completion: time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")}
	}
}

// outcome returns the end of a run by the events that it sent.
func (r *run) outcome(status int, stopped error, output string) Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := Outcome{Result: r.stats, Requeue: r.requeue, Open: r.open}
	switch {
	case stopped != nil:
		end.Failed = r.task.describe(stopped.Error())
	case r.broken != "":
		end.Failed = r.broken
	case r.stats == nil:
		end.Failed = fmt.Sprintf("the run ended with status %s before its playbook did%s", exitStatus(status), output)
	case r.stats.Failures > 0:
		end.Failed = cmp.Or(strings.Join(r.failed, "\n"), "a task failed")
	case status != 0:
		end.Failed = fmt.Sprintf("the run ended with status %s%s", exitStatus(status), output)
	}
	return end
}

func exitStatus(status int) string {
	if status < 0 {
		return "signal " + strconv.Itoa(-status)
	}
	return strconv.Itoa(status)
}

// lastBytes returns the end of a file, or all of it, in a paragraph of its own.
func lastBytes(file string, all bool) (string, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if !all {
		content = content[max(0, len(content)-tailSize):]
	}
	if text := strings.TrimSpace(string(content)); text != "" {
		return "\n" + text, err
	}
	return "", err
}
