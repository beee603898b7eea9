package molecule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/up/process"
)

var errNoCommand = errors.New("ansible-playbook is not found; install Ansible, for example with apt-get install ansible python3-kubernetes; a virtual environment is used if VIRTUAL_ENV is set")

// command returns the path of ansible-playbook: that of $VIRTUAL_ENV, or of PATH.
func command() (string, error) {
	if env := os.Getenv("VIRTUAL_ENV"); env != "" {
		if path, err := exec.LookPath(filepath.Join(env, "bin", "ansible-playbook")); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("ansible-playbook")
	if err != nil {
		return "", errNoCommand
	}
	return path, nil
}

// Player runs the playbooks of a scenario.
type Player struct {
	*Scenario
	ansible string
	space   workspace
	env     environment
	out     io.Writer
}

// Check returns an error if no playbook can run on this machine.
func (s *Scenario) Check() error {
	if _, err := command(); err != nil {
		return fmt.Errorf("%w; the scenario %s needs it", err, s.relative(s.dir))
	}
	return nil
}

// Player creates a directory with the files that playbooks need: Close removes it. A directory of an earlier player is replaced, and the
// processes that its playbooks have left are killed. The namespace is that of the test, and the kubeconfig that of its cluster. The output of
// playbooks is written to out.
func (s *Scenario) Player(dir, namespace string, kubeconfig []byte, out io.Writer) (*Player, error) {
	ansible, err := command()
	if err != nil {
		return nil, err
	}
	w, err := newWorkspace(dir, kubeconfig)
	if err != nil {
		return nil, err
	}
	env := s.environment(w, namespace)
	if err := s.read(env); err != nil {
		return nil, err
	}
	return &Player{Scenario: s, ansible: ansible, space: w, env: env, out: out}, w.prepare(s, env)
}

// Close removes the directory.
func (p *Player) Close() error { return os.RemoveAll(p.space.dir) }

// Step is a step of molecule that has a playbook.
type Step struct {
	Name string
	// Playbook is the path of the playbook, relative to the project if it is in there.
	Playbook string
	path     string
	err      error
}

// Steps returns the steps that run, in order.
func (p *Player) Steps() []Step {
	var all []Step
	for _, name := range p.steps() {
		path, err := p.playbook(name)
		if err == nil && path == "" && name == "verify" && p.tests() {
			path = p.space.verify()
		}
		if err != nil || path != "" {
			all = append(all, Step{Name: name, Playbook: p.relative(path), path: path, err: err})
		}
	}
	return all
}

// Namespace returns the namespace that the playbooks use: the one of the test, unless the scenario sets another one without a template.
func (p *Player) Namespace() string { return p.namespace(p.env) }

// event is a line of the callback plugin.
type event struct {
	Task
	Event   string `json:"event"`
	Message string `json:"message"`
	// Rescue means that the task runs because another task has failed.
	Rescue bool `json:"rescue"`
}

// Task is a task of a playbook.
type Task struct {
	Name string `json:"name"`
	// Role is empty for a task outside of roles.
	Role string `json:"role,omitempty"`
	// File is relative to the project, if it is in there.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

func (t Task) String() string {
	var parts []string
	if t.Role != "" {
		parts = append(parts, "role "+t.Role)
	}
	parts = append(parts, fmt.Sprintf("task %q", t.Name))
	if t.File != "" {
		parts = append(parts, fmt.Sprintf("%s:%d", t.File, t.Line))
	}
	return strings.Join(parts, ", ")
}

// TaskError is the error of a playbook in which a task failed.
type TaskError struct {
	Message string
	Task    Task
}

func (e *TaskError) Error() string { return e.Message }

// Play runs the playbook of a step until it ends or ctx ends. Processes that it has started are ended, too. The error of a task that failed
// is a *TaskError.
func (p *Player) Play(ctx context.Context, step Step) error {
	if step.err != nil {
		return step.err
	}
	fmt.Fprintf(p.out, "%s: ansible-playbook %s\n", step.Name, step.Playbook)
	return p.play(ctx, step.Name, step.path)
}

func (p *Player) play(ctx context.Context, step, playbook string) error {
	if err := os.WriteFile(p.space.events(), nil, 0o600); err != nil {
		return err
	}
	env := p.env.with(p.settings.Provisioner.Env)
	if step == "verify" {
		env = env.with(p.settings.Verifier.Env)
	}
	plugins := p.space.file("callback")
	if more := env["ANSIBLE_CALLBACK_PLUGINS"]; more != "" {
		plugins += string(filepath.ListSeparator) + more
	}
	log := process.NewLog(io.Discard, func(line string) {
		if line != "" {
			fmt.Fprintln(p.out, step+" | "+line)
		}
	})
	playing, err := process.Start(process.Command{
		Path: p.ansible, Args: p.arguments(playbook), Dir: p.dir, Log: log,
		Env: env.with(p.space.own()).with(environment{"ANSIBLE_CALLBACK_PLUGINS": plugins}).list(),
	})
	if err != nil {
		return err
	}
	defer sweep(p.space)
	select {
	case <-playing.Done():
	case <-ctx.Done():
		playing.Stop(timing.grace)
		return p.interrupted(context.Cause(ctx))
	}
	playing.Kill() // the rest of its process group
	events, err := p.events()
	if err != nil {
		return err
	}
	if exit := playing.Exit(); exit.Code != 0 {
		return failure(events, log.Tail(1<<10), exit)
	}
	if len(events) == 0 {
		return errors.New("no task was run: the hosts of the plays are not in the inventory, or the plays have no tasks")
	}
	return nil
}

// arguments returns the arguments of ansible-playbook.
func (p *Player) arguments(playbook string) []string {
	args := []string{"--inventory", filepath.Dir(p.space.inventory()), "--skip-tags", "molecule-notest,notest"}
	options := p.settings.Provisioner.Options
	var names []string
	for name := range options {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value, dashes := options[name], "--"
		if strings.Trim(name, "v") == "" {
			dashes = "-"
		}
		switch strings.ToLower(value) {
		case "false", "":
		case "true":
			args = append(args, dashes+name)
		default:
			args = append(args, dashes+name+"="+value)
		}
	}
	return append(append(args, p.settings.Provisioner.AnsibleArgs...), playbook)
}

// events reads the events of the playbook that ran last. Paths are relative to the project.
func (p *Player) events() ([]event, error) {
	content, err := os.ReadFile(p.space.events())
	if err != nil {
		return nil, err
	}
	var all []event
	for line := range bytes.Lines(content) {
		var one event
		if err := json.Unmarshal(line, &one); err != nil {
			break // it was killed while it wrote the line
		}
		one.File = p.relative(one.File)
		all = append(all, one)
	}
	return all, nil
}

// interrupted returns the error of a playbook that was ended, with the task that was running.
func (p *Player) interrupted(cause error) error {
	events, err := p.events()
	if err != nil || len(events) == 0 {
		return cause
	}
	return &TaskError{cause.Error(), events[len(events)-1].Task}
}

// failure returns the error of a playbook that failed. If the task that failed last runs because another task has failed before, the
// error is that of the other task.
func failure(events []event, output []string, exit process.Exit) error {
	var failed []event
	for _, e := range events {
		if e.Event == "failed" {
			failed = append(failed, e)
		}
	}
	if len(failed) == 0 {
		return fmt.Errorf("ansible-playbook %s:\n%s", exit, strings.Join(end(output), "\n"))
	}
	at := len(failed) - 1
	for i, e := range slices.Backward(failed) {
		if !e.Rescue {
			at = i
			break
		}
	}
	return &TaskError{failed[at].Message, failed[at].Task}
}

// end returns the error in the output of Ansible, or else its last lines.
func end(output []string) []string {
	for i, line := range output {
		if strings.HasPrefix(line, "ERROR!") {
			return output[i:min(len(output), i+shownLines)]
		}
	}
	return output[max(0, len(output)-shownLines):]
}

// shownLines is the number of lines of output that an error has.
const shownLines = 12
