package process_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/tools/up/mount"
	"github.com/operon-framework/operon/internal/tools/up/process"
	"github.com/operon-framework/operon/local/localtest"
)

// role selects the role of the test binary: the child, or the parent that is killed.
const role = "CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "parent":
		playParent()
	case "sleeper":
		fmt.Println("sleeping")
		block()
	case "stubborn":
		playStubborn()
	case "looker":
		playLooker()
	case "failing":
		fmt.Fprintln(os.Stderr, "no luck")
		os.Exit(3)
	}
}

// block waits forever. Because it waits for a signal, the runtime does not report a deadlock.
func block() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	select {}
}

// The mount of the child in the role parent.
const mountSource, mountTarget = "CHILD_TEST_SOURCE", "CHILD_TEST_TARGET"

// playParent starts a sleeper, prints its PID when it sleeps, and waits to be killed.
func playParent() {
	sleeps := make(chan string, 1)
	command := process.Command{
		Path: os.Args[0], Env: []string{role + "=sleeper"},
		Log: process.NewLog(os.Stderr, func(line string) { sleeps <- line }),
	}
	if target := os.Getenv(mountTarget); target != "" {
		command.Mounts = []mount.Mount{{Source: os.Getenv(mountSource), Target: target}}
	}
	process, err := process.Start(command)
	if err != nil {
		panic(err)
	}
	<-sleeps
	fmt.Println(process.PID())
	block()
}

// lookAt names the file that the role looker reads.
const lookAt = "CHILD_TEST_FILE"

// playLooker prints the names of the directories near a file, and the file's content after each change.
func playLooker() {
	path, before := os.Getenv(lookAt), ""
	beside, err := os.ReadDir(filepath.Dir(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		panic(err)
	}
	fmt.Println(names(beside))
	for {
		content, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		if string(content) != before {
			before = string(content)
			fmt.Println(before)
		}
		time.Sleep(time.Millisecond)
	}
}

func names(entries []os.DirEntry) []string {
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

// playStubborn starts a grandchild, and ignores requests to stop.
func playStubborn() {
	grandchild := exec.Command("/bin/sleep", "600")
	if err := grandchild.Start(); err != nil {
		panic(err)
	}
	signal.Ignore(syscall.SIGTERM)
	fmt.Println(grandchild.Process.Pid)
	block()
}

// start starts a role and returns it with its log and the log lines.
func start(t *testing.T, name string) (*process.Process, *process.Log, <-chan string) {
	t.Helper()
	lines := make(chan string, 10)
	log := process.NewLog(&bytes.Buffer{}, func(line string) { lines <- line })
	process, err := process.Start(process.Command{Path: os.Args[0], Env: []string{role + "=" + name}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Stop(0) })
	return process, log, lines
}

func TestAnExitIsTold(t *testing.T) {
	t.Parallel()
	process, log, _ := start(t, "failing")
	localtest.Receive(t, "the child's end", process.Done())
	if exit := process.Exit(); exit.Code != 3 || exit.Signal != 0 || !strings.HasPrefix(exit.String(), "exited with code 3 after ") {
		t.Errorf("%+v: %s", exit, exit)
	}
	if tail := log.Tail(5); len(tail) != 1 || tail[0] != "no luck" {
		t.Errorf("its log is %q", tail)
	}
}

func TestStopAsksFirst(t *testing.T) {
	t.Parallel()
	process, _, lines := start(t, "sleeper")
	localtest.Receive(t, "the child to sleep", lines)
	process.Stop(time.Minute)
	if exit := process.Exit(); exit.Signal != syscall.SIGTERM || !strings.HasPrefix(exit.String(), `ended by signal "terminated" after `) {
		t.Errorf("%+v: %s", exit, exit)
	}
}

func TestStopEndsByForceWhatTheChildStarted(t *testing.T) {
	t.Parallel()
	process, _, lines := start(t, "stubborn")
	grandchild, err := strconv.Atoi(localtest.Receive(t, "the grandchild", lines))
	if err != nil {
		t.Fatal(err)
	}
	process.Stop(10 * time.Millisecond)
	if exit := process.Exit(); exit.Signal != syscall.SIGKILL {
		t.Errorf("%+v", exit)
	}
	waitGone(t, grandchild)
}

// waitGone waits until a process no longer exists, or is a zombie that no process reaps.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || bytes.Contains(status, []byte("State:\tZ")) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("process %d is there", pid)
		case <-tick.C:
		}
	}
}

func TestWhatCannotBeStartedIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none")
	if _, err := process.Start(process.Command{Path: path, Log: process.NewLog(&bytes.Buffer{}, nil)}); err == nil || !strings.HasPrefix(err.Error(), "start "+path) {
		t.Errorf("%v", err)
	}
}
