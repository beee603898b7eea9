package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// cycles is how often a cluster is started and stopped. Every second one is killed.
const cycles = 4

// Nothing of a node is left after its cluster was stopped, even if the cluster was killed.
func TestNothingOfANodeIsLeft(t *testing.T) {
	t.Parallel()
	needsNode(t)
	h := newHome(t)
	image := archive(t, "app:1", runtime.GOARCH, buildApp(t))
	name := "left-" + strings.ToLower(filepath.Base(h.path)) // identifies the cluster's control groups
	for cycle := range cycles {
		facts := h.up("--cluster", name, "--node", "container")
		h.must("image", "load", "--cluster", name, image)
		h.apply(web+pod("web", "serve"), "--cluster", name)
		h.must("kubectl", "--cluster", name, "wait", "pod/web", "--for=condition=Ready", within)
		uid := strings.TrimSpace(h.must("kubectl", "--cluster", name, "get", "pod/web", "-o", "jsonpath={.metadata.uid}"))
		for _, kind := range []string{"process", "socket", "control group", "pod's control group"} {
			if !slices.ContainsFunc(left(t, h, uid), func(what string) bool { return strings.HasPrefix(what, kind) }) {
				t.Fatalf("no %s of the node is seen while it runs: the comparison below means nothing", kind)
			}
		}
		checkShare(t)
		if cycle%2 == 1 {
			if err := syscall.Kill(facts.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		h.must("down", "--cluster", name)
		if found := left(t, h, uid); len(found) > 0 {
			t.Fatalf("cycle %d left:\n%s", cycle, strings.Join(found, "\n"))
		}
	}
}

// checkShare checks that nodes have more than the kernel's default share of processor time.
func checkShare(t *testing.T) {
	t.Helper()
	found := 0
	for pattern, byDefault := range map[string]int{"/sys/fs/cgroup/operon/cpu.weight": 100, "/sys/fs/cgroup/*/operon/cpu.shares": 1024} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if share, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || share <= byDefault {
				t.Errorf("%s is %s, error %v", file, text, err)
			}
			found++
		}
	}
	if found == 0 {
		t.Error("the nodes have no share of processor time")
	}
}

// left lists what remains of a home's clusters and of a pod, and the network links and rules that remain of any cluster: other
// tests run at the same time.
func left(t *testing.T, h *home, pod string) []string {
	t.Helper()
	var found []string
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		line, err := os.ReadFile(process)
		if err == nil && strings.Contains(string(line), h.path+"/") {
			found = append(found, "process "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	for path, what := range map[string]string{"/proc/self/mountinfo": "mount ", "/proc/net/unix": "socket "} {
		lines, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(lines)) {
			if strings.Contains(line, h.path+"/") {
				found = append(found, what+strings.TrimSpace(line))
			}
		}
	}
	return slices.Concat(found, links(t), groups(t, h), groupsOfPod(t, pod))
}

// links lists the network links and rules of the machine that only a node creates.
func links(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("/sys/class/net/operon*")
	pairs, alsoErr := filepath.Glob("/sys/class/net/veth" + strings.Repeat("[0-9a-f]", 11)) // other programs name theirs differently
	if err := errors.Join(err, alsoErr); err != nil {
		t.Fatal(err)
	}
	found = append(found, pairs...)
	rules, err := exec.Command("nft", "list", "tables").Output()
	if err != nil {
		return found // the machine has only iptables, whose rules are per network namespace, too
	}
	if strings.Contains(string(rules), "kube-proxy") {
		found = append(found, string(rules))
	}
	return found
}

// groups lists control groups of the home's clusters.
func groups(t *testing.T, h *home) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/operon/*", "/sys/fs/cgroup/*/operon/*"} {
		all, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range all {
			if strings.Contains(group, "left-"+strings.ToLower(filepath.Base(h.path))) {
				found = append(found, "control group "+group)
			}
		}
	}
	return found
}

// groupsOfPod lists the control groups of a pod in all hierarchies: runc creates some in each hierarchy that it finds.
func groupsOfPod(t *testing.T, uid string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // other tests create and delete control groups at the same time
		}
		if err == nil && strings.Contains(entry.Name(), uid) {
			found = append(found, "pod's control group "+path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
