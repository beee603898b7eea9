package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// unused is the time after which an unused cluster stops: longer than the start of the next command takes on a slow machine.
const unused = "15s"

// A cluster that is unused for the time of --ttl stops. It leaves no files and no entry in the user's kubeconfig.
func TestUnusedClusterStops(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	file := filepath.Join(h.path, "users-kubeconfig")
	h.env = append(h.env, "KUBECONFIG="+file)
	if facts := h.up("--ttl", unused, "--merge"); facts.TTL != unused || facts.MergedInto != file {
		t.Errorf("started as %+v", facts)
	}
	if list := h.must("list"); !strings.Contains(list, "Running") {
		t.Fatalf("the cluster is not listed: %s", list)
	}
	left := func() []string {
		files, err := filepath.Glob(filepath.Join(h.path, "clusters", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	deadline := time.Now().Add(patience)
	for list := ""; strings.Contains(list, "Running") || len(left()) > 0; list = h.must("list") {
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %v\n%s", left(), list)
		}
		time.Sleep(pause)
	}
	if config := read(t, file); len(config.Contexts) > 0 || config.CurrentContext != "" {
		t.Errorf("the user's kubeconfig still has %v, current %q", config.Contexts, config.CurrentContext)
	}
	if r := h.run("kubectl", "get", "nodes"); r.code == 0 || !strings.Contains(r.stderr, "no clusters exist") {
		t.Errorf("kubectl after the cluster stopped: %+v", r)
	}
}

// A cluster with a data directory also stops, and starts again with its state.
func TestUnusedClusterWithDataStops(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	data := filepath.Join(h.path, "data")
	h.up("--ttl", unused, "--data", data)
	h.must("kubectl", "create", "namespace", "kept")
	deadline := time.Now().Add(patience)
	for list := h.must("list"); !strings.Contains(list, "no clusters"); list = h.must("list") {
		if time.Now().After(deadline) {
			t.Fatalf("it still runs: %s", list)
		}
		time.Sleep(pause)
	}
	h.up("--data", data)
	h.must("kubectl", "get", "namespace", "kept")
}
