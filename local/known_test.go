package local

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Clusters are found by the files in their directories. No binary is called or built for this.
func TestKnownClusters(t *testing.T) {
	home := t.TempDir()
	t.Setenv("OPERON_HOME", home)
	t.Setenv("OPERON_CLUSTER_BINARY", filepath.Join(home, "none"))
	if list, err := List(t.Context()); err != nil || list == nil || len(list) > 0 {
		t.Errorf("where nothing is: %v, %v", list, err)
	}
	if _, err := Status(t.Context(), "a"); err == nil || err.Error() != "unknown local cluster \"a\"; start it with `operon cluster up --cluster a`" {
		t.Errorf("where nothing is: %v", err)
	}
	folder := filepath.Join(home, "clusters")
	for _, name := range []string{"gone", "runs", "starts"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"gone", "runs"} {
		put(t, filepath.Join(folder, name, "cluster.json"), `{"name":"`+name+`","state":"Running","pid":7,"version":"v1.37.2","published":["127.0.0.1:1:2"],"log":"/l"}`)
	}
	lock, err := TryLock(filepath.Join(folder, "runs.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	runs := Cluster{Name: "runs", State: Running, PID: 7, Version: "v1.37.2", Published: []string{"127.0.0.1:1:2"}, Log: "/l"}
	want := []Cluster{
		{Name: "gone", State: Stopped, Version: "v1.37.2", Published: []string{"127.0.0.1:1:2"}, Log: "/l"}, runs,
		{Name: "starts", State: Stopped, Log: filepath.Join(folder, "starts", "cluster.log")},
	}
	if list, err := List(t.Context()); err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("got %+v, %v", list, err)
	}
	if one, err := Status(t.Context(), "runs"); err != nil || !reflect.DeepEqual(*one, runs) {
		t.Errorf("got %+v, %v", one, err)
	}
	if _, err := Status(t.Context(), "../clusters/runs"); err == nil || err.Error() != `unknown local cluster "../clusters/runs"; existing clusters: gone, runs, starts` {
		t.Errorf("%v", err)
	}
	put(t, filepath.Join(folder, "gone", "cluster.json"), "nonsense")
	want[0] = Cluster{Name: "gone", State: Damaged, Log: filepath.Join(folder, "gone", "cluster.log")}
	if list, err := List(t.Context()); err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("with a damaged one: %+v, %v", list, err)
	}
	if _, err := Status(t.Context(), "gone"); err == nil || !strings.Contains(err.Error(), "remove the cluster with `operon cluster down --cluster gone`") {
		t.Errorf("%v", err)
	}
}
