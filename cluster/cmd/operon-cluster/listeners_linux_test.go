package main

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/procfs"
)

// All TCP sockets on which a cluster with simulated nodes listens are on loopback, also while pods and a Service with a node port exist.
func TestListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	facts := h.up("--nodes", "2")
	h.must("kubectl", "create", "deployment", "web", "--image=web", "--port=80", "--replicas=2")
	h.must("kubectl", "expose", "deployment", "web", "--type=NodePort")
	h.must("kubectl", "rollout", "status", "deployment", "web", within)
	listeners := listenersOf(t, facts.PID)
	if len(listeners) == 0 {
		t.Error("the cluster listens nowhere, although kubectl reached it")
	}
	for _, one := range listeners {
		if !one.IP.IsLoopback() {
			t.Errorf("the cluster listens on %s", &one)
		}
	}
}

// listenersOf returns the addresses of the TCP sockets on which a process listens.
func listenersOf(t *testing.T, pid int) []net.TCPAddr {
	t.Helper()
	process, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	open, err := process.FileDescriptorTargets()
	if err != nil {
		t.Fatal(err)
	}
	fs, err := procfs.NewFS(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		t.Fatal(err)
	}
	var listeners []net.TCPAddr
	for _, read := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} {
		sockets, err := read()
		if err != nil {
			t.Fatal(err)
		}
		for _, socket := range sockets {
			const listening = 10 // TCP_LISTEN of include/net/tcp_states.h
			if socket.St == listening && slices.Contains(open, fmt.Sprintf("socket:[%d]", socket.Inode)) {
				listeners = append(listeners, net.TCPAddr{IP: socket.LocalAddr, Port: int(socket.LocalPort)})
			}
		}
	}
	return listeners
}
