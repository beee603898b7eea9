package main

import (
	"os"
	"testing"

	"golang.org/x/mod/modfile"
)

// The benchmark compares two ways to run the same Kubernetes: the versions of the peer must be the versions that Operon embeds.
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
