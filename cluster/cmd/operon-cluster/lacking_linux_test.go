package main

import (
	"bytes"
	"errors"
	"fmt"
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
	"time"

	"golang.org/x/sys/unix"
)

// One error lists everything that a machine lacks for containers, and names the alternative that needs none of it.
func TestMachinesThatLackSomething(t *testing.T) {
	t.Parallel()
	needsNode(t)
	h := newHome(t)
	empty, some := t.TempDir(), t.TempDir()
	for _, program := range []string{"runc"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(some, program)); err != nil {
			t.Fatal(err)
		}
	}
	const runc, nft = "the program runc (Debian: apt install runc)", "the program nft or iptables (Debian: apt install nftables)"
	for name, c := range map[string]struct {
		spoil       func(*exec.Cmd)
		want, never string
	}{
		"no programs": {func(c *exec.Cmd) { c.Env = append(c.Env, "PATH="+empty) }, "it lacks " + runc + ", and " + nft, "root"},
		"no nft":      {func(c *exec.Cmd) { c.Env = append(c.Env, "PATH="+some) }, "it lacks " + nft, "runc"},
		"not root": {func(c *exec.Cmd) {
			c.Path = "/proc/self/exe" // the executable is in a directory that only root may read
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}, "it needs root", "lacks"},
	} {
		command := h.command("up", "--node", "container")
		c.spoil(command)
		r := h.ended(command)
		if r.code != exitFailed || !strings.Contains(r.stderr, "this machine cannot run a container node: "+c.want) ||
			!strings.Contains(r.stderr, "simulated nodes (--node sim) do not need this") || strings.Contains(r.stderr, c.never) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	simulated := h.command("up", "--node", "sim")
	simulated.Env = append(simulated.Env, "PATH="+empty)
	if r := h.ended(simulated); r.code != 0 {
		t.Errorf("simulated nodes without programs: %+v", r)
	}
}

// When a node dies during its start, the error quotes its log, and nothing is left.
func TestNodeDiesWhileItStarts(t *testing.T) {
	t.Parallel()
	needsNode(t)
	h := newHome(t)
	up := h.command("up", "--node", "container")
	var said bytes.Buffer
	up.Stderr = &said
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- up.Wait() }()
	for killed := false; ; {
		select {
		case err := <-ended:
			if !killed || err == nil || !strings.Contains(said.String(), "the node's process died") || !strings.Contains(said.String(), "its last output:") || !strings.Contains(said.String(), "signal 9") {
				t.Errorf("killed: %v; %v: %s", killed, err, said.String())
			}
			if folders, err := os.ReadDir(filepath.Join(h.path, "clusters")); err != nil || len(folders) > 0 {
				t.Errorf("left: %v, %v", folders, err)
			}
			return
		case <-time.After(time.Millisecond): // the start of a process sends no event
			killed = killed || killNode(t, h)
		}
	}
}

// killNode kills the node process of a home if it exists.
func killNode(t *testing.T, h *home) bool {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		line, err := os.ReadFile(process)
		if err != nil || !strings.HasPrefix(string(line), "operon-node\x00") || !strings.Contains(string(line), h.path+"/") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(process)))
		if err != nil {
			t.Fatal(err)
		}
		return syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	return false
}

// A full disk stores no image and no part of one, and the cluster continues to run.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	needsNode(t)
	h := newHome(t)
	disk := mountDisk(t, h)
	program := buildApp(t)
	h.up("--node", "container")
	h.must("image", "load", archive(t, "app:1", runtime.GOARCH, program))
	h.apply(pod("web", "serve"))
	h.must("kubectl", "wait", "pod/web", "--for=condition=Ready", within)

	if told := h.must("kubectl", "get", "--raw", "/api/v1/nodes/container-0/proxy/configz"); !strings.Contains(told, `"evictionHard":{"memory.available":"50Mi"}`) {
		t.Errorf("for want of disk, the kubelet would end pods and remove images: %s", told)
	}
	const room = 40 << 20
	disk.limit(t, room)
	before := disk.files(t)
	big := archive(t, "big:1", runtime.GOARCH, slices.Concat(program, make([]byte, 2*room)))
	if r := h.run("image", "load", big); r.code != exitFailed || !strings.Contains(r.stderr, "the disk of the node's store is full") || !strings.Contains(r.stderr, "OPERON_HOME") {
		t.Errorf("an image that is too large: %+v", r)
	}
	if list := h.must("image", "ls"); strings.Contains(list, "big") || !strings.Contains(list, "docker.io/library/app:1") {
		t.Errorf("images:\n%s", list)
	}
	if after := disk.files(t); !slices.Equal(after, before) {
		t.Errorf("in the store are %q, before there were %q", after, before)
	}
	if said := h.must("kubectl", "exec", "web", "--", "/app", "say", "on"); said != "[on]\n" {
		t.Errorf("exec: %q", said)
	}
	h.must("image", "load", archive(t, "small:1", runtime.GOARCH, program))
	h.apply(strings.Replace(pod("small", "serve"), "app:1", "small:1", 1))
	h.must("kubectl", "wait", "pod/small", "--for=condition=Ready", within)
}

// disk is the file system that contains a home.
type disk struct{ path string }

// mountDisk mounts a separate file system at the home. Only this test and the processes that it starts see it.
func mountDisk(t *testing.T, h *home) disk {
	t.Helper()
	// The thread is never unlocked, and ends with the test: no other goroutine runs on it.
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err == nil {
		err = unix.Mount("tmpfs", h.path, "tmpfs", 0, "size=1g")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.must("down", "--all")
		err := unix.Unmount(h.path, 0)
		for deadline := time.Now().Add(patience); errors.Is(err, unix.EBUSY) && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			// A process that ends releases its locks before its working directory, and sends no event.
			err = unix.Unmount(h.path, 0)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return disk{h.path}
}

// limit limits the free space to room bytes.
func (d disk) limit(t *testing.T, room uint64) {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(d.path, &stat); err != nil {
		t.Fatal(err)
	}
	size := (stat.Blocks-stat.Bfree)*uint64(stat.Bsize) + room
	if err := unix.Mount("", d.path, "", unix.MS_REMOUNT, fmt.Sprintf("size=%d", size)); err != nil {
		t.Fatal(err)
	}
}

// files lists the files in the content store, including the files that are being written.
func (d disk) files(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(d.path, "clusters/default/node/containerd/io.containerd.content.v1.content"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, strings.TrimPrefix(path, d.path))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Without operon-node, the exit code tells the command operon to find or build it. Simulated nodes do not need it.
func TestWithoutTheProgramOfNodes(t *testing.T) {
	t.Parallel()
	needsNode(t)
	h := newHome(t)
	h.env = []string{"OPERON_NODE_BINARY="}
	if r := h.run("up", "--node", "container"); r.code != exitNeedsNode || !strings.Contains(r.stderr, "need the program operon-node") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%+v", r)
	}
	h.env = append(h.env, onDemand+"=1")
	if r := h.run("up", "--node", "container"); r.code != exitNeedsNode || r.stderr != "" {
		t.Errorf("on demand: %+v", r)
	}
	h.env = []string{"OPERON_NODE_BINARY=/nowhere/operon-node"}
	if r := h.run("up", "--node", "container"); r.code != exitFailed || !strings.Contains(r.stderr, "OPERON_NODE_BINARY is /nowhere/operon-node, which is not an executable file") {
		t.Errorf("a program that does not exist: %+v", r)
	}
	h.up()
}
