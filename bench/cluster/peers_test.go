package main

import (
	"os"
	"testing"

	"golang.org/x/mod/modfile"
)

// The comparison is of two ways to run the same Kubernetes: the peer's versions must be
// those that Operon embeds.
func TestPeersAreOfTheSameVersions(t *testing.T) {
	t.Parallel()
	ours, peers := versions(t, "../../cluster/go.mod"), versions(t, "../peers/go.mod")
	for _, module := range []string{"k8s.io/kubernetes", "go.etcd.io/etcd/server/v3", "k8s.io/apiserver"} {
		if ours[module] == "" || ours[module] != peers[module] {
			t.Errorf("%s: cluster has %q, bench/peers has %q", module, ours[module], peers[module])
		}
	}
}

func versions(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(path, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range file.Require {
		found[r.Mod.Path] = r.Mod.Version
	}
	return found
}

func TestMedianAndRatio(t *testing.T) {
	t.Parallel()
	f := against("x", []int64{4, 90, 3}, []int64{10, 8, 7}, megabytes, 0.5)
	if f.ratio != 0.5 || f.met != met {
		t.Errorf("got ratio %v, met %s; want 0.5, yes", f.ratio, f.met)
	}
	if f := against("x", []int64{5}, []int64{8}, megabytes, 0.5); f.met != missed {
		t.Errorf("a ratio of %v meets a goal of 0.5", f.ratio)
	}
}
