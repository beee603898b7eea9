package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// fakeCluster replaces operon-cluster by a script that records its arguments in the returned file.
func fakeCluster(t *testing.T, script string) (arguments string) {
	t.Helper()
	dir := t.TempDir()
	arguments = filepath.Join(dir, "arguments")
	binary := filepath.Join(dir, "fake")
	put(t, binary, "#!/bin/sh\necho \"$@\" > "+arguments+"\n"+script)
	t.Setenv("OPERON_CLUSTER_BINARY", binary)
	return arguments
}

func TestUpReadsWhatIsPrinted(t *testing.T) {
	arguments := fakeCluster(t, `echo progress >&2; echo '{"name":"one","state":"Running","server":"https://127.0.0.1:1","kubeconfig":"/k","pid":7,"version":"v1.37.2","nodes":2,"startedAt":"2026-01-02T03:04:05Z","readySeconds":1.5,"log":"/l"}'`)
	got, err := Up(t.Context(), Options{Name: "one", Nodes: 2, TTL: time.Minute, Port: 99, Data: "/d", Config: "/c", Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	want := Cluster{Name: "one", State: Running, Server: "https://127.0.0.1:1", Kubeconfig: "/k", PID: 7, Version: "v1.37.2", Nodes: 2,
		StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ReadySeconds: 1.5, Log: "/l"}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v", *got)
	}
	if asked, _ := os.ReadFile(arguments); string(asked) != "up --cluster one --nodes 2 --data /d --ttl 1m0s --port 99 --config /c --plain -o json\n" {
		t.Errorf("asked for %q", asked)
	}
}

// A cluster that lost its state in a crash does not seem to be the one from before.
func TestUpReportsACrash(t *testing.T) {
	const crash = "the previous process ended unexpectedly: panic: x"
	fakeCluster(t, "echo '"+crash+"' >&2; echo '{\"crash\":\""+crash+"\"}'")
	var progress strings.Builder
	cluster, err := Up(t.Context(), Options{Progress: &progress})
	if err != nil || cluster.Crash != crash || progress.String() != crash+"\n" {
		t.Errorf("%+v, %v, progress %q", cluster, err, progress.String())
	}
}

func TestTheDefaultClusterNeedsNoOptions(t *testing.T) {
	arguments := fakeCluster(t, "echo '{}'")
	if _, err := Up(t.Context(), Options{}); err != nil {
		t.Fatal(err)
	}
	if asked, _ := os.ReadFile(arguments); string(asked) != "up --cluster default -o json\n" {
		t.Errorf("asked for %q", asked)
	}
}

func TestErrorsAreInTheBinarysWords(t *testing.T) {
	fakeCluster(t, "echo 'operon-cluster: there is no cluster \"x\"' >&2; exit 1")
	if err := Down(t.Context(), "x"); err == nil || err.Error() != `local cluster: there is no cluster "x"` {
		t.Errorf("Down: %v", err)
	}
}

func TestSilentAndGarbledAnswersAreErrors(t *testing.T) {
	fakeCluster(t, "exit 4")
	if _, err := Up(t.Context(), Options{}); err == nil || err.Error() != "local cluster: up: exit status 4" {
		t.Errorf("silent: %v", err)
	}
	fakeCluster(t, "echo nonsense")
	if _, err := Up(t.Context(), Options{}); err == nil || !strings.HasPrefix(err.Error(), "read what `operon-cluster up` printed") {
		t.Errorf("garbled: %v", err)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	fakeCluster(t, "exec sleep 60")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("too late"))
	defer cancel()
	if err := Down(ctx, "x"); err == nil || err.Error() != "local cluster: down: stopped: too late" {
		t.Errorf("%v", err)
	}
}

func TestRESTConfigNamesTheClusterThatHasNoKubeconfig(t *testing.T) {
	t.Parallel()
	cluster := Cluster{Name: "one", Kubeconfig: filepath.Join(t.TempDir(), "none")}
	if _, err := cluster.RESTConfig(); err == nil || !strings.Contains(err.Error(), `cluster "one"`) {
		t.Errorf("%v", err)
	}
}

func TestHomeIsWhereTheUserSays(t *testing.T) {
	t.Setenv("OPERON_HOME", "/somewhere")
	if home, err := Home(); home != "/somewhere" || err != nil {
		t.Errorf("%s, %v", home, err)
	}
	t.Setenv("OPERON_HOME", "")
	t.Setenv("HOME", "/home/one")
	if home, err := Home(); home != "/home/one/.operon" || err != nil {
		t.Errorf("%s, %v", home, err)
	}
}

func TestFolderIsForItsUserAlone(t *testing.T) {
	t.Setenv("OPERON_HOME", filepath.Join(t.TempDir(), "home"))
	folder, err := Folder("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	put(t, filepath.Join(folder, "file"), "x")
	if _, err := Folder("a", "b", "file"); err == nil || !strings.Contains(err.Error(), "OPERON_HOME names another place") {
		t.Errorf("where a file is: %v", err)
	}
}

// If operon-cluster needs operon-node, it is called again with its path.
func TestUpFindsTheProgramOfNodes(t *testing.T) {
	arguments := fakeCluster(t, "[ -e $0.again ] && echo '{\"name\":\"one\"}' && exit; touch $0.again; echo 'operon-cluster: no operon-node' >&2; exit 3")
	if _, err := Up(t.Context(), Options{Node: Container}); err == nil || !strings.Contains(err.Error(), "find operon-node: it is not next to ") || !strings.Contains(err.Error(), "set OPERON_NODE_BINARY") {
		t.Errorf("Up without the program: %v", err)
	}
	if err := os.Remove(os.Getenv("OPERON_CLUSTER_BINARY") + ".again"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPERON_NODE_BINARY", os.Getenv("OPERON_CLUSTER_BINARY"))
	found, err := Up(t.Context(), Options{Node: Container})
	if err != nil || found.Name != "one" {
		t.Errorf("Up: %+v, %v", found, err)
	}
	if asked, _ := os.ReadFile(arguments); string(asked) != "up --cluster default --node container -o json\n" {
		t.Errorf("asked for %q", asked)
	}
}
