package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/operon-framework/operon/cluster/internal/instance"
	"github.com/operon-framework/operon/cluster/internal/node"
)

// asCommand makes the test binary run the command, for tests and for the processes of clusters, which are started from the
// running executable.
const asCommand = "OPERON_CLUSTER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// home is the OPERON_HOME of one test. The test fails if clusters are left in it.
type home struct {
	t    *testing.T
	path string
	// env is added to the environment of the tests.
	env []string
	// enter runs a function in the network of the test, if the test has its own.
	enter func(something func() error) error
}

func newHome(t *testing.T) *home {
	t.Helper()
	// t.TempDir is not used: its names are too long for the path of a socket.
	path, err := os.MkdirTemp("", "oc")
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, path: path, enter: func(something func() error) error { return something() }}
	t.Cleanup(func() {
		h.run("down", "--all")
		left, err := filepath.Glob(filepath.Join(path, "clusters", "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	})
	return h
}

// result is the result of one run of the command.
type result struct {
	code           int
	stdout, stderr string
}

func (h *home) run(args ...string) result {
	h.t.Helper()
	return h.ended(h.command(args...))
}

// command returns a run of the command that was not started yet.
func (h *home) command(args ...string) *exec.Cmd {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	command := exec.Command(self, args...)
	command.Env = append(append(os.Environ(), asCommand+"=1", "OPERON_HOME="+h.path), h.env...)
	return command
}

// ended runs a command until it ends, and returns the result.
func (h *home) ended(command *exec.Cmd) result {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := h.enter(command.Run)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return result{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs the command and returns its standard output. The command has to succeed.
func (h *home) must(args ...string) string {
	h.t.Helper()
	r := h.run(args...)
	if r.code != 0 {
		h.t.Fatalf("%q: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

func (h *home) up(args ...string) instance.Facts {
	h.t.Helper()
	var facts instance.Facts
	if err := json.Unmarshal([]byte(h.must(append([]string{"up", "-o", "json"}, args...)...)), &facts); err != nil {
		h.t.Fatal(err)
	}
	return facts
}

func TestLife(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	facts := h.up("--nodes", "2")
	if facts.State != instance.Running || facts.Nodes != 2 || !strings.HasPrefix(facts.Version, "v1.") {
		t.Errorf("facts %+v", facts)
	}
	if info, err := os.Stat(facts.Kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(facts.Kubeconfig)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory of the cluster: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(filepath.Dir(facts.Kubeconfig), "etcd.sock")); err != nil || info.Mode().Type() != os.ModeSocket {
		t.Errorf("socket of etcd: %v, %v", info, err)
	}
	if again := h.up(); again.PID != facts.PID {
		t.Errorf("a second up started process %d beside %d", again.PID, facts.PID)
	}
	if nodes := h.must("kubectl", "get", "nodes", "-o", "name"); strings.Count(nodes, "node/") != 2 {
		t.Errorf("nodes: %s", nodes)
	}
	h.must("kubectl", "create", "deployment", "web", "--image=web")
	h.must("kubectl", "rollout", "status", "deployment", "web", within)
	if r := h.run("kubectl", "auth", "can-i", "delete", "nodes", "--as", "nobody"); strings.TrimSpace(r.stdout) != "no" {
		t.Errorf("nobody may delete nodes: %+v", r)
	}
	h.must("reset")
	if left := h.must("kubectl", "get", "deployments,replicasets,pods", "-A", "-o", "name"); left != "" {
		t.Errorf("after the reset there are:\n%s", left)
	}
	h.must("down")
	// A process that ended but was not reaped yet has no command line.
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", facts.PID)); err == nil && len(line) > 0 {
		t.Errorf("process %d outlived down: %s", facts.PID, line)
	}
}

// A cluster that is being started is stopped when it has started.
func TestDownDuringTheStart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	data := t.TempDir()
	up := h.command("up", "--data", data)
	if err := h.enter(up.Start); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // there is no event for a new directory
		if _, err := os.Stat(filepath.Join(h.path, "clusters", "default")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the start did not begin")
		}
	}
	if said := h.must("down"); !strings.Contains(said, "is down; its state is kept in "+data) {
		t.Errorf("down says %q", said)
	}
	if err := up.Wait(); err != nil {
		t.Errorf("up: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(h.path, "clusters")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestKilledClusterIsCleared(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	facts := h.up()
	if err := syscall.Kill(facts.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	again := h.up()
	if again.PID == facts.PID || again.State != instance.Running {
		t.Errorf("after kill -9: %+v", again)
	}
	kept := filepath.Join(h.path, "clusters", again.Name+".crash.log")
	if !strings.Contains(again.Crash, "it was killed, or its log has no reason; its log is "+kept) {
		t.Errorf("the reason of the crash is %q", again.Crash)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(again.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.must("down")
	if left, err := os.ReadDir(filepath.Join(h.path, "clusters")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestDataOutlivesTheCluster(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	data := filepath.Join(h.path, "data")
	h.up("--data", data)
	h.must("kubectl", "create", "configmap", "kept")
	if r := h.run("up", "--cluster", "other", "--data", data); r.code != exitFailed || !strings.Contains(r.stderr, "in use by another cluster") {
		t.Errorf("two clusters on one data directory: %+v", r)
	}
	h.must("down")
	h.up("--data", data)
	h.must("kubectl", "get", "configmap", "kept")
	h.must("reset")
	if r := h.run("kubectl", "get", "configmap", "kept"); r.code == 0 {
		t.Error("the reset of a kept state kept an object")
	}
	h.must("down")
	h.up("--data", data, "--nodes", "3") // more than when the initial state was recorded
	h.must("reset")
	if nodes := h.must("kubectl", "get", "nodes", "-o", "name"); strings.Count(nodes, "node/") != 3 {
		t.Errorf("after the reset there are the nodes:\n%s", nodes)
	}
	h.must("down")
	h.up("--data", data, "--config", h.file("runtimeConfig: {api/alpha: true}\n"))
	if r := h.run("reset"); r.code != exitFailed || !strings.Contains(r.stderr, "was recorded with runtimeConfig map[]") || !strings.Contains(r.stderr, "delete "+filepath.Join(data, "first-state")) {
		t.Errorf("a reset to the state of a cluster with other APIs: %+v", r)
	}
}

// file writes a file in the home, and returns its path.
func (h *home) file(content string) string {
	h.t.Helper()
	path := filepath.Join(h.path, "config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// A running cluster keeps its settings, and says which of the requested ones it does not have.
func TestOtherSettings(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.up("--ttl", "1h")
	for _, c := range []struct{ flags, want string }{
		{"--ttl 1h", ""},
		{"--ttl 2h --nodes 3 -o json", "(different: nodes, ttl)"},
	} {
		r := h.run(append([]string{"up"}, strings.Fields(c.flags)...)...)
		if r.code != 0 || !strings.Contains(r.stderr, c.want) || c.want == "" && r.stderr != "" {
			t.Errorf("up %s: %+v", c.flags, r)
		}
	}
	if r := h.run("up", "--node", "container"); r.code == 0 || !strings.Contains(r.stderr, "no node that runs containers") {
		t.Errorf("a node of containers: %+v", r)
	}
}

// A directory whose path is too long for sockets is rejected before anything is created.
func TestLongFolder(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.env = []string{"OPERON_HOME=" + filepath.Join(h.path, strings.Repeat("long", 25))}
	r := h.run("up")
	if r.code != exitFailed || !strings.Contains(r.stderr, "bytes too long") || !strings.Contains(r.stderr, "set OPERON_HOME to a shorter path") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%+v", r)
	}
	if left, err := os.ReadDir(h.path); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if runtime.GOOS != "linux" || node.Check() != nil {
		return
	}
	// The paths of the kubelet's sockets are longer.
	h.env = []string{"OPERON_HOME=" + filepath.Join(h.path, strings.Repeat("x", 50))}
	if r := h.run("up", "--node", "container"); r.code != exitFailed || !strings.Contains(r.stderr, "bytes too long") {
		t.Errorf("%+v", r)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("nods: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	setting := filepath.Join(t.TempDir(), "setting.yaml")
	if err := os.WriteFile(setting, []byte("apiServer: {max-request-inflight: \"3\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kind := filepath.Join(t.TempDir(), "kind.yaml")
	if err := os.WriteFile(kind, []byte("node: vm\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pushing := filepath.Join(t.TempDir(), "pushing.yaml")
	if err := os.WriteFile(pushing, []byte("registryPort: 5000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"unknown verb", []string{"upp"}, exitFailed, `did you mean "up"`},
		{"unknown flag", []string{"up", "--nope"}, exitFailed, "unknown flag: --nope"},
		{"argument", []string{"up", "mine"}, exitFailed, "named with --cluster"},
		{"wrong format", []string{"list", "-o", "xml"}, exitFailed, "want text, json, yaml or name"},
		{"unknown name", []string{"status", "--cluster", "nope"}, exitFailed, `unknown cluster "nope"`},
		{"down of unknown name", []string{"down", "--cluster", "nope"}, exitFailed, `unknown cluster "nope"`},
		{"kubectl of unknown name", []string{"kubectl", "--cluster", "nope", "get", "pods"}, exitFailed, `unknown cluster "nope"`},
		{"bad name", []string{"up", "--cluster", "No_Good"}, exitFailed, "lower-case letters"},
		{"port taken", []string{"up", "--port", port}, exitFailed, "address already in use"},
		{"registry without containers", []string{"up", "--config", pushing}, exitFailed, pushing + ": registryPort: 5000: only container nodes pull images"},
		{"registry port without containers", []string{"up", "--registry-port", "5000"}, exitFailed, "--registry-port 5000: only container nodes pull images"},
		{"no registry port", []string{"up", "--registry-port", "70000"}, exitFailed, "--registry-port 70000: want 1 to 65535"},
		{"egress without containers", []string{"up", "--egress"}, exitFailed, "--egress true: simulated pods reach nothing; add --node container"},
		{"publish without containers", []string{"up", "--publish", "8080:30080"}, exitFailed, "--publish 8080:30080: simulated pods serve nothing"},
		{"no port", []string{"up", "--port", "70000"}, exitFailed, "--port 70000: want 1 to 65535"},
		{"no verbosity", []string{"up", "--log-level", "11"}, exitFailed, "--log-level 11: want 0 to 10"},
		{"verbosity that is not a number", []string{"up", "--log-level", "x"}, exitFailed, "--log-level x: want a whole number"},
		{"the former name", []string{"up", "--name", "a"}, exitFailed, "--name is called --cluster now"},
		{"no time", []string{"up", "--ttl", "1ms"}, exitFailed, "--ttl 1ms: want at least 1s"},
		{"no nodes", []string{"up", "--nodes", "0"}, exitFailed, "at least 1"},
		{"unknown kind of node", []string{"up", "--node", "vm"}, exitFailed, `--node "vm": want sim or container`},
		{"unknown kind of node in a file", []string{"up", "--config", kind}, exitFailed, kind + `: node: "vm": want sim or container`},
		{"missing config", []string{"up", "--config", "nope.yaml"}, exitFailed, "nope.yaml"},
		{"unknown field", []string{"up", "--config", config}, exitFailed, `unknown field "nods"`},
		{"unknown setting", []string{"up", "--config", setting}, exitFailed, `kube-apiserver has no setting "max-request-inflight"`},
		{"unknown gate", []string{"up", "--feature-gates", "Nope=true"}, exitFailed, "unrecognized feature gate: Nope"},
		{"missing policy", []string{"up", "--audit-policy", "/nope"}, exitFailed, "/nope"},
	}
	h := newHome(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := h.run(test.args...)
			if r.code != test.code || !strings.Contains(r.stderr, test.want) {
				t.Errorf("exit code %d, want %d; want %q in:\n%s", r.code, test.code, test.want, r.stderr)
			}
			if lines := strings.Count(strings.TrimSpace(r.stderr), "\n"); lines > 1 {
				t.Errorf("the error is not one line:\n%s", r.stderr)
			}
		})
	}
	if list := h.must("list", "-o", "json"); strings.TrimSpace(list) != "[]" {
		t.Errorf("mistakes left clusters: %s", list)
	}
}
