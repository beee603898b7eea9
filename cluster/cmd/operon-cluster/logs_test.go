package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The log is the file of the cluster. A client that follows it receives appended text, and ends on an interrupt.
func TestLogs(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	facts := h.up()
	printed := h.must("logs")
	whole, err := os.ReadFile(facts.Log)
	if err != nil || printed == "" || !strings.HasPrefix(string(whole), printed) {
		t.Errorf("%d bytes are printed of a file of %d bytes that begins differently, %v", len(printed), len(whole), err)
	}
	follow, lines := h.follow()
	appendLine(t, facts.Log, "a line of the test")
	awaitLine(t, lines, "a line of the test")
	if err := follow.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
	}
	if err := follow.Wait(); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
	if r := h.run("logs", "--cluster", "other"); r.code == 0 || !strings.Contains(r.stderr, `"other"`) {
		t.Errorf("the log of an unknown cluster: %+v", r)
	}
}

// A client that follows the log ends when the cluster is stopped.
func TestFollowedLogEnds(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.up()
	follow, lines := h.follow()
	h.must("down")
	for lines.Scan() {
	}
	if err := follow.Wait(); err != nil {
		t.Errorf("after the cluster is down: %v", err)
	}
}

// follow starts a client that follows the log of the cluster, and returns when it prints.
func (h *home) follow() (*exec.Cmd, *bufio.Scanner) {
	h.t.Helper()
	follow := h.command("logs", "--follow")
	out, err := follow.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.enter(follow.Start); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = follow.Process.Kill() }) // fails if it ended
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		h.t.Fatalf("nothing is printed: %v", lines.Err())
	}
	return follow, lines
}

func appendLine(t *testing.T, path, line string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(file, line)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func awaitLine(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	for lines.Scan() && lines.Text() != want {
	}
	if lines.Text() != want {
		t.Errorf("%q is not printed: %v", want, lines.Err())
	}
}

// Clusters that start at the same time in one directory do not get into each other's way.
func TestSeveralClusters(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	const several = 4
	ended := make(chan result, several)
	for i := range several {
		go func() { ended <- h.run("up", "--cluster", fmt.Sprint("c", i)) }()
	}
	for range several {
		if r := <-ended; r.code != 0 {
			t.Errorf("up: %+v", r)
		}
	}
	if list := h.must("list"); strings.Count(list, "Running") != several {
		t.Errorf("the list is\n%s", list)
	}
	for i := range several {
		if nodes := h.must("kubectl", "--cluster", fmt.Sprint("c", i), "get", "nodes", "-o", "name"); strings.Count(nodes, "node/") != 1 {
			t.Errorf("cluster %d has the nodes %q", i, nodes)
		}
	}
	h.must("down", "--all")
	if left, err := os.ReadDir(h.path + "/clusters"); err != nil || len(left) > 0 {
		t.Errorf("after down --all there are %v, %v", left, err)
	}
}
