package playbook

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

//go:embed python
var programs embed.FS

// Worker is the Python process that runs playbooks: see python/worker.py. It starts with the first run, and again if it has
// ended.
type Worker struct {
	options Options

	mu      sync.Mutex
	current *process
	stopped bool
	// ready is closed when the worker may start.
	ready chan struct{}
}

// process is one start of the Python process.
type process struct {
	dir     string
	command *exec.Cmd
	control net.Conn
	// socket accepts the connections of runs.
	socket net.Listener
	stderr *tail
	// ended is closed when the process has ended, and removed when its directory has been removed, too.
	ended, removed chan struct{}

	mu   sync.Mutex
	runs map[string]*run
}

// message is a line that the Python process sends.
type message struct {
	Ready   string   `json:"ready"`
	Missing []string `json:"missing"`
	Note    string   `json:"note"`
	Exited  string   `json:"exited"`
	Status  int      `json:"status"`
}

// Options are the settings of a Worker.
type Options struct {
	// Arguments are further arguments of ansible-playbook, quoted as in a shell.
	Arguments string
	// RolesPath and CollectionsPath are lists of directories, separated like PATH. The first may be empty.
	RolesPath, CollectionsPath string
	// ShowOutput logs the complete output of each run.
	ShowOutput bool
}

// NewWorker returns a worker that starts no process before Serve is called.
func NewWorker(options Options) *Worker { return &Worker{options: options, ready: make(chan struct{})} }

// Serve lets runs start until ctx ends. It then ends all of them, and removes their files.
func (w *Worker) Serve(ctx context.Context) error {
	close(w.ready)
	<-ctx.Done()
	w.mu.Lock()
	w.stopped = true
	p := w.current
	w.mu.Unlock()
	if p == nil {
		return nil
	}
	p.stop()
	select {
	case <-p.removed:
		return nil
	case <-time.After(timing.end):
		return fmt.Errorf("the Python process of the Ansible engine, with the process ID %d and the directory %s, did not end", p.command.Process.Pid, p.dir)
	}
}

// process returns the running process. It starts one if there is none.
func (w *Worker) process(ctx context.Context) (*process, error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return nil, errors.New("the operator is being stopped")
	}
	if w.current != nil && w.current.alive() {
		return w.current, nil
	}
	started, err := w.start(ctx)
	w.current = started
	return started, err
}

func (w *Worker) start(ctx context.Context) (*process, error) {
	python, err := findPython(ctx)
	if err != nil {
		return nil, err
	}
	if err := removeLeftovers(os.TempDir()); err != nil {
		ctrl.Log.WithName("ansible").Error(err, "remove what operators that were killed have left")
	}
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, stderr: &tail{}, ended: make(chan struct{}), removed: make(chan struct{}), runs: map[string]*run{}}
	if err := p.launch(ctx, python, w.environment(dir)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

// environment returns the environment of the Python process, which its runs inherit.
func (w *Worker) environment(dir string) []string {
	e := w.options
	settings := map[string]string{
		"ANSIBLE_STDOUT_CALLBACK": "operon", "ANSIBLE_PIPELINING": "True", "ANSIBLE_LOCAL_TEMP": filepath.Join(dir, "tmp"), "TMPDIR": filepath.Join(dir, "tmp"),
		// Another operator_sdk.util would send metrics to a server that only Operator SDK has.
		"ANSIBLE_COLLECTIONS_PATH": filepath.Join(dir, "collections") + string(filepath.ListSeparator) + e.CollectionsPath,
		"PYTHONDONTWRITEBYTECODE":  "1", "ANSIBLE_RETRY_FILES_ENABLED": "False", "ANSIBLE_NOCOLOR": "1",
	}
	if e.RolesPath != "" {
		settings["ANSIBLE_ROLES_PATH"] = e.RolesPath
	}
	for name, value := range map[string]string{
		"ANSIBLE_GATHERING": "explicit", "LC_ALL": "C.UTF-8", "ANSIBLE_REMOTE_TMP": settings["TMPDIR"], // in an image, ~ is read-only
	} {
		if os.Getenv(name) == "" {
			settings[name] = value
		}
	}
	environment := os.Environ()
	for name, value := range settings {
		environment = append(environment, name+"="+value)
	}
	return environment
}

// launch starts the process and waits until it is ready.
func (p *process) launch(ctx context.Context, python string, environment []string) error {
	files, err := fs.Sub(programs, "python")
	if err != nil {
		return err
	}
	if err := os.CopyFS(p.dir, files); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(p.dir, "tmp"), 0o700); err != nil {
		return err
	}
	socket, err := listenIn(p.dir)
	if err != nil {
		return err
	}
	p.socket = socket
	ours, theirs, err := socketPair()
	if err != nil {
		return errors.Join(err, p.socket.Close())
	}
	p.command = exec.Command(python, filepath.Join(p.dir, "worker.py"), p.dir)
	p.command.Env, p.command.Stdout, p.command.Stderr, p.command.ExtraFiles = environment, p.stderr, p.stderr, []*os.File{theirs}
	p.command.WaitDelay = timing.killGrace // processes of a run may have the output open
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = p.command.Start()
	if err := errors.Join(err, theirs.Close()); err != nil {
		return errors.Join(err, ours.Close(), p.socket.Close())
	}
	p.control = ours
	lines := bufio.NewReader(ours)
	hello, err := p.hello(ctx, lines)
	if err != nil {
		p.stop()
		return errors.Join(fmt.Errorf("start the Python process of the Ansible engine with %s: %w%s", python, err, p.stderr.text("")), p.command.Wait())
	}
	log := ctrl.Log.WithName("ansible")
	log.Info("started the Python process", "python", python, "ansible", hello.Ready)
	if len(hello.Missing) > 0 {
		log.Info("some Python modules are not installed; roles may not need them", "missing", strings.Join(hello.Missing, ", "))
	}
	if hello.Note != "" {
		log.Info("modules run in new Python processes, which takes longer", "reason", hello.Note)
	}
	go p.accept()
	go p.watch(lines)
	return nil
}

// hello reads the first message.
func (p *process) hello(ctx context.Context, lines *bufio.Reader) (message, error) {
	var first message
	stop := context.AfterFunc(ctx, func() { _ = p.control.SetReadDeadline(time.Now()) }) // the read fails then
	defer stop()
	if err := p.control.SetReadDeadline(time.Now().Add(timing.start)); err != nil {
		return first, err
	}
	line, err := lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return first, errors.New("it ended")
	}
	if err != nil {
		return first, err
	}
	if err := json.Unmarshal(line, &first); err != nil {
		return first, err
	}
	return first, p.control.SetReadDeadline(time.Time{})
}

// watch reads messages until the process ends.
func (p *process) watch(lines *bufio.Reader) {
	defer close(p.removed)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			ctrl.Log.WithName("ansible").Error(err, "the Python process sent a message that is not JSON", "message", string(line))
			continue
		}
		if r := p.take(m.Exited); r != nil {
			r.exited <- m.Status
		}
	}
	p.stop()
	err := p.command.Wait()
	close(p.ended)
	p.mu.Lock()
	left := p.runs
	p.runs = nil
	p.mu.Unlock()
	for _, r := range left {
		r.end()
		r.exited <- -1
	}
	ctrl.Log.WithName("ansible").Info("the Python process has ended", "state", fmt.Sprint(err), "output", p.stderr.text(""))
	if err := os.RemoveAll(p.dir); err != nil {
		ctrl.Log.WithName("ansible").Error(err, "remove the directory of the Python process")
	}
}

// accept connects the processes of runs to their runs.
func (p *process) accept() {
	for {
		connection, err := p.socket.Accept()
		if err != nil {
			return // closed by stop
		}
		go func() {
			lines := bufio.NewReader(connection)
			var hello struct {
				Run string `json:"run"`
				PID int    `json:"pid"`
			}
			line, err := lines.ReadBytes('\n')
			if err == nil {
				err = json.Unmarshal(line, &hello)
			}
			p.mu.Lock()
			r := p.runs[hello.Run]
			p.mu.Unlock()
			if err == nil && r != nil {
				r.converse(hello.PID, connection, lines)
			}
			_ = connection.Close() // nothing is buffered
		}()
	}
}

// begin starts a run.
func (p *process) begin(r *run) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		return errors.New("the Python process of the Ansible engine has ended")
	}
	line, err := json.Marshal(map[string]string{"run": r.id})
	if err != nil {
		return err
	}
	p.runs[r.id] = r
	_, err = p.control.Write(append(line, '\n'))
	return err
}

// take removes a run that has ended.
func (p *process) take(id string) *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[id]
	delete(p.runs, id)
	return r
}

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop ends the process. Its control stream ends, whereupon it ends all its runs.
func (p *process) stop() {
	_ = p.control.Close() // it may be closed already
	_ = p.socket.Close()
}

// socketPair returns two connected sockets.
func socketPair() (net.Conn, *os.File, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	syscall.CloseOnExec(pair[0])
	syscall.CloseOnExec(pair[1])
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	connection, err := net.FileConn(ours)
	return connection, theirs, errors.Join(err, ours.Close())
}

// tail keeps the end of what is written to it.
type tail struct {
	mu      sync.Mutex
	content []byte
}

const tailSize = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.content = append(t.content, p...)
	t.content = t.content[max(0, len(t.content)-tailSize):]
	return len(p), nil
}

// text returns the end of what was written, in a paragraph of its own.
func (t *tail) text(prefix string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.content))
	if text == "" {
		return ""
	}
	return prefix + "\n" + text
}
