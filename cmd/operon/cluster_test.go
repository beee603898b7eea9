package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/local"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the files with the help of operon-cluster's commands")

// unbuildable runs operon in an environment in which operon-cluster can be neither found nor built.
func unbuildable(t *testing.T, args ...string) result {
	t.Helper()
	return ended(t, unbuildableIn(t, args...))
}

// unbuildableIn returns such a run without starting it.
func unbuildableIn(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	call := asOperonIn(t, args...)
	call.Env = append(call.Env, "OPERON_CLUSTER_BINARY=/nowhere/operon-cluster", "PATH=/nowhere")
	return call
}

// The help of operon-cluster's commands is embedded, so users do not wait minutes for a build to read it.
func TestHelpOfWhatIsPassedOn(t *testing.T) {
	t.Parallel()
	binary, err := local.Binary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string]string{}
	for _, verb := range clusterVerbs {
		verbs["cluster "+verb.name] = "operon cluster"
	}
	for _, verb := range imageVerbs {
		verbs["image "+verb.name] = "operon"
	}
	for verb, as := range verbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			theirs := exec.Command(binary)
			theirs.Args = append([]string{as}, strings.Fields(strings.TrimPrefix(verb, "cluster "))...)
			theirs.Args = append(theirs.Args, "--help")
			theirs.Env = append(os.Environ(), "OPERON_CLUSTER=")
			want, err := theirs.Output()
			if err != nil {
				t.Fatal(err)
			}
			if *rewrite {
				if err := os.WriteFile(filepath.Join("help", strings.ReplaceAll(verb, " ", "-")+".txt"), want, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for args, got := range each(t, unbuildableIn(t), slices.Values([]string{verb + " --help", verb + " --cluster x -h", "help " + verb})) {
				if got.code != 0 || got.stdout != string(want) {
					t.Errorf("%s: exit %d; `go test ./cmd/operon -run %s -rewrite` writes what operon-cluster says:\n%s%s", args, got.code, "TestHelpOfWhatIsPassedOn", got.stdout, got.stderr)
				}
			}
		})
	}
}

// The list of clusters is printed without a build, and is the same as the list of operon-cluster.
func TestClusterList(t *testing.T) {
	t.Parallel()
	if got := unbuildable(t, "cluster", "list"); got.code != 0 || got.stderr != "No cluster exists. Start one with `operon cluster up`.\n" {
		t.Errorf("exit %d, %q, %s", got.code, got.stdout, got.stderr)
	}
	if got := unbuildable(t, "cluster", "ls", "-o", "json"); got.code != 0 || got.stdout != "[]\n" {
		t.Errorf("exit %d, %q, %s", got.code, got.stdout, got.stderr)
	}
	binary, err := local.Binary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	home := clusterFolders(t)
	age, space := regexp.MustCompile(`\d+h\d+m\d+s`), regexp.MustCompile(` +`) // 9s is shorter than 10s, and so is its column
	squeezed := func(list string) string { return space.ReplaceAllString(age.ReplaceAllString(list, "AGE"), " ") }
	for _, format := range [][]string{nil, {"-o", "json"}} {
		theirs, ours := exec.Command(binary, append([]string{"list"}, format...)...), asOperonIn(t, append([]string{"cluster", "list"}, format...)...)
		theirs.Env, ours.Env = append(os.Environ(), "OPERON_HOME="+home), append(ours.Env, "OPERON_HOME="+home)
		want, got := ended(t, theirs), ended(t, ours)
		if got.code != 0 || want.code != 0 || squeezed(got.stdout) != squeezed(want.stdout) || !strings.Contains(got.stdout, "gone") {
			t.Errorf("exit %d\n%s%s\nwant\n%s%s", got.code, got.stdout, got.stderr, want.stdout, want.stderr)
		}
	}
}

// If there is no cluster, this is reported without building a binary or an image.
func TestNothingIsBuiltWithoutACluster(t *testing.T) {
	t.Parallel()
	const none = "operon: unknown local cluster \"default\""
	for call, want := range map[string]string{
		"build ../../examples/memcached":  none + ": start it with `operon cluster up --node container`; --tar FILE, --layout DIR and --push NAME put the image elsewhere\n",
		"deploy ../../examples/memcached": none + ": start it with `operon cluster up --node container`; or name an existing image with --image NAME: simulated nodes accept any name and run no containers\n",
		"logs ../../examples/memcached":   none + "; start it with `operon cluster up --cluster default`\n",
	} {
		if got := unbuildable(t, strings.Fields(call)...); got.code != exitFailed || got.stderr != want {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
}

// clusterFolders creates a home with directories in the state in which clusters leave them: one was killed, one is damaged, two
// are running, and one of these has all possible facts.
func clusterFolders(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for name, told := range map[string]string{
		"gone": `{"name": "gone", "state": "Running", "pid": 7, "startedAt": "2026-01-02T03:04:05Z"}`,
		"runs": `{"name": "runs", "state": "Running", "server": "https://127.0.0.1:1", "kubeconfig": "/k", "pid": 7, "version": "v1.37.2", "node": "container",
			"nodes": 2, "registry": "127.0.0.1:2", "egress": true, "published": ["127.0.0.1:3:4"], "data": "/d", "ttl": "1m0s", "startedAt": "2026-01-02T03:04:05Z",
			"readySeconds": 1.5, "log": "/l", "mergedInto": "/m"}`,
		"damaged":   "nonsense",
		"simulated": `{"name": "simulated", "state": "Running", "pid": 7, "node": "sim", "nodes": 1, "startedAt": "2026-01-02T03:04:05Z"}`,
	} {
		folder := filepath.Join(home, "clusters", name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "cluster.json"), []byte(told), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"runs", "simulated"} {
		lock, err := local.TryLock(filepath.Join(home, "clusters", name+".lock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := lock.Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
	return home
}
