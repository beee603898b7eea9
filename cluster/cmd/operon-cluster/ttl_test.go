package main

import (
	"strings"
	"testing"
	"time"
)

// A cluster that is not used for the time of --ttl stops.
func TestUnusedClusterStops(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if facts := h.up("--ttl", "3s"); facts.TTL != "3s" {
		t.Errorf("the TTL is %q", facts.TTL)
	}
	if list := h.must("list"); !strings.Contains(list, "Running") {
		t.Fatalf("the cluster is not listed: %s", list)
	}
	deadline := time.Now().Add(patience)
	for strings.Contains(h.must("list"), "Running") { // a process each time, which is pause enough
		if time.Now().After(deadline) {
			t.Fatalf("the cluster still runs: %s", h.must("list"))
		}
	}
	if r := h.run("kubectl", "get", "nodes"); r.code == 0 || !strings.Contains(r.stderr, "no clusters exist") {
		t.Errorf("kubectl after the cluster stopped: %+v", r)
	}
}
