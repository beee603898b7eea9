package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// With a kept state, pods run again after a restart, from the images that were stored. A reset deletes them and their volumes. It
// fails if the cluster has another kind of nodes than before, because it would delete or restore objects of the node.
func TestDataOutlivesContainers(t *testing.T) {
	t.Parallel()
	needsNode(t)
	h := newHome(t)
	data := filepath.Join(h.path, "data")
	up := []string{"--cluster", "kept-" + strings.ToLower(filepath.Base(h.path)), "--data", data, "--node", "container"}
	name := up[:2]
	call := func(verb string, args ...string) string {
		return h.must(append(append([]string{verb}, name...), args...)...)
	}
	program := buildApp(t)
	facts := h.up(up...)
	h.must("image", "load", name[0], name[1], archive(t, "app:1", runtime.GOARCH, program))
	push(t, program, facts.Registry+"/team/pushed")
	h.apply(web+strings.Replace(pod("web", "serve"), "restartPolicy: Never", "restartPolicy: Always", 1)+pod("once", "say", "once")+pod("work", "serve"), name...)
	call("kubectl", "wait", "pod/web", "pod/work", "--for=condition=Ready", within)
	call("kubectl", "wait", "pod/once", "--for=jsonpath={.status.phase}=Succeeded", within)
	call("down")

	if again := h.up(up...); again.Registry != facts.Registry {
		t.Errorf("the registry was at %s and is at %s", facts.Registry, again.Registry)
	}
	if list := h.must("image", "ls", name[0], name[1]); !strings.Contains(list, "docker.io/library/app:1") {
		t.Errorf("images:\n%s", list)
	}
	call("kubectl", "wait", "pod/web", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", within)
	call("kubectl", "wait", "pod/web", "--for=condition=Ready", within)
	// A container that is killed has another exit code.
	if code := call("kubectl", "get", "pod", "web", "-o", "jsonpath={.status.containerStatuses[0].lastState.terminated.exitCode}"); code != "0" {
		t.Errorf("the container did not end by itself when the cluster was stopped: exit code %s", code)
	}
	// Work that was interrupted is not done, although the program exits with 0 after a stop signal.
	call("kubectl", "wait", "pod/work", "--for=jsonpath={.status.phase}=Failed", within)
	if said := call("kubectl", "exec", "web", "--", "/app", "say", "again"); said != "[again]\n" {
		t.Errorf("exec: %q", said)
	}
	// The pushed image is pulled only now.
	h.apply(pod("asks", "get", "http://web.default.svc.cluster.local")+strings.ReplaceAll(pod("pushed", "say", "it"), "app:1", facts.Registry+"/team/pushed"), name...)
	call("kubectl", "wait", "pod/asks", "pod/pushed", "--for=jsonpath={.status.phase}=Succeeded", within)
	if restarts := call("kubectl", "get", "pod", "once", "-o", "jsonpath={.status.phase} {.status.containerStatuses[0].restartCount}"); restarts != "Succeeded 0" {
		t.Errorf("what was done before is %s", restarts)
	}

	if len(runningGroups(t, h)) == 0 {
		t.Fatal("no container is seen while one runs: what follows means nothing")
	}
	h.apply(claim, name...)
	call("kubectl", "wait", "pvc/data", "--for=jsonpath={.status.phase}=Bound", within)
	volumes := func() []string {
		found, err := filepath.Glob(filepath.Join(data, "volumes", "pvc-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if len(volumes()) != 1 {
		t.Errorf("directories of volumes: %v", volumes())
	}
	call("reset")
	for ended := time.Now().Add(patience); len(volumes()) > 0; time.Sleep(10 * time.Millisecond) { // there is no event for the end of a directory
		if time.Now().After(ended) {
			t.Fatalf("after the reset there are %v", volumes())
		}
	}
	if pods := call("kubectl", "get", "pods", "-A", "-o", "name"); pods != "" {
		t.Errorf("pods after the reset: %s", pods)
	}
	for ended := time.Now().Add(patience); len(runningGroups(t, h)) > 0; time.Sleep(50 * time.Millisecond) { // the end of a process sends no event
		if time.Now().After(ended) {
			t.Fatalf("a minute after the reset there are\n%s", strings.Join(runningGroups(t, h), "\n"))
		}
	}
	h.apply(pod("web", "serve"), name...)
	call("kubectl", "wait", "pod/web", "--for=condition=Ready", within)
	call("down")
	h.up(up[:4]...)
	if r := h.run("reset", name[0], name[1]); r.code != exitFailed || !strings.Contains(r.stderr, "recorded with node container, and the cluster now has sim") {
		t.Errorf("a reset to the state of another kind of node: %+v", r)
	}
}

// When a cluster is stopped, and when it stops because it is unused, the containers of its retained state can use the API server to the end: operators
// release their leases.
func TestContainersEndBeforeTheAPIServer(t *testing.T) {
	t.Parallel()
	needsNode(t)
	h := newHome(t)
	data := filepath.Join(h.path, "data")
	up := []string{"--data", data, "--node", "container", "--ttl", unused}
	image := archive(t, "app:1", runtime.GOARCH, buildApp(t))
	h.up(up...)
	h.must("image", "load", image)
	h.apply(strings.Replace(pod("one", "farewell"), "restartPolicy: Never", "restartPolicy: Always", 1))
	h.must("kubectl", "wait", "pod/one", "--for=condition=Ready", within)
	deadline := time.Now().Add(patience)
	for list := h.must("list"); !strings.Contains(list, "no clusters"); list = h.must("list") {
		if time.Now().After(deadline) {
			t.Fatalf("it still runs: %s", list)
		}
		time.Sleep(pause)
	}
	for restarts := 1; restarts <= 2; restarts++ {
		h.up(up[:4]...)
		h.must("kubectl", "wait", "pod/one", fmt.Sprintf("--for=jsonpath={.status.containerStatuses[0].restartCount}=%d", restarts), within)
		if code := h.must("kubectl", "get", "pod", "one", "-o", "jsonpath={.status.containerStatuses[0].lastState.terminated.exitCode}"); code != "0" {
			t.Errorf("stop %d: the container could not use the API server: exit code %s", restarts, code)
		}
		h.must("kubectl", "wait", "pod/one", "--for=condition=Ready", within)
		h.must("down")
	}
}

const claim = `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

// runningGroups lists the control groups of a home's containers that contain a process.
func runningGroups(t *testing.T, h *home) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/operon/*", "/sys/fs/cgroup/memory/operon/*"} {
		all, err := filepath.Glob(pattern + "-" + strings.ToLower(filepath.Base(h.path)) + "-*/kubepods*/*/*")
		if err != nil {
			t.Fatal(err)
		}
		deeper, err := filepath.Glob(pattern + "-" + strings.ToLower(filepath.Base(h.path)) + "-*/kubepods*/*/*/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range append(all, deeper...) {
			processes, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
			if err == nil && len(processes) > 0 {
				found = append(found, group)
			}
		}
	}
	return found
}
