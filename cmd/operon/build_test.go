package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/operon-framework/operon/local"
)

// small writes a project that builds quickly.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/web\n\ngo 1.26\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBuildWritesAnImageAndTellsOfIt(t *testing.T) {
	t.Parallel()
	dir := small(t)
	file := filepath.Join(t.TempDir(), "web.tar")
	got := operon(t, "build", dir, "--tar", file, "--layout", filepath.Join(filepath.Dir(file), "layout"), "-o", "json")
	var told madeImage
	if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || got.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	written, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	size := told.Platforms[0].Size
	if layers, err := written.Layers(); err != nil || len(layers) != len(told.Platforms[0].Layers) || size < 500_000 || size > 5_000_000 || told.Name != "web:latest" || told.Written == 0 {
		t.Errorf("%v, %+v", err, told)
	}
	if text := operon(t, "build", dir, "--tar", file); text.code != 0 || !strings.HasSuffix(text.stdout, "\nwritten to "+file+"\nweb:latest@"+told.Digest+"\n") {
		t.Errorf("exit %d\n%s%s", text.code, text.stdout, text.stderr)
	}
}

func TestBuildSaysWhatTheClusterCannotDo(t *testing.T) {
	t.Parallel()
	home := clusterFolders(t)
	for cluster, want := range map[string]string{
		"x":    "operon: unknown local cluster \"x\": start it with `operon cluster up --cluster x --node container`; --tar FILE, --layout DIR and --push NAME put the image elsewhere\n",
		"gone": "operon: cluster \"gone\" is not running: start it with `operon cluster up --cluster gone --node container`; --tar FILE, --layout DIR and --push NAME put the image elsewhere\n",
		"simulated": "operon: cluster \"simulated\" has simulated nodes only, which run no images: stop it, then start it with `operon cluster up --cluster simulated --node container`; " +
			"--tar FILE, --layout DIR and --push NAME put the image elsewhere\n",
		"runs": `operon: load the image into cluster "runs": exit status 42` + "\n", // printed by the fake operon-cluster
	} {
		for _, args := range [][]string{{"build", small(t)}, {"image", "from-dir", small(t), "--image", "x"}} {
			call := asOperonIn(t, append(args, "--cluster", cluster)...)
			call.Env = append(call.Env, "OPERON_HOME="+home)
			if got := ended(t, call); got.code != exitFailed || got.stderr != want {
				t.Errorf("%s: exit %d\n%s", cluster, got.code, got.stderr)
			}
		}
	}
}

// For a cluster that cannot take images, operon-cluster, which has the other image commands, reports the same as `operon
// build`.
func TestVerbsOfImagesSayTheSameOfAClusterThatTakesNone(t *testing.T) {
	t.Parallel()
	binary, err := local.Binary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	home, dir := clusterFolders(t), small(t)
	says := func(args ...string) string {
		call := asOperonIn(t, args...)
		call.Env = append(call.Env, "OPERON_HOME="+home, "OPERON_CLUSTER_BINARY="+binary)
		return ended(t, call).stderr
	}
	for _, test := range []struct{ cluster, verb string }{
		{"x", "ls"}, {"x", "rm web"}, {"x", "load web.tar"}, {"default", "ls"}, {"gone", "ls"}, {"simulated", "ls"},
	} {
		want := strings.Replace(says("build", dir, "--cluster", test.cluster), "; --tar FILE, --layout DIR and --push NAME put the image elsewhere", "", 1)
		verb := strings.Fields("image " + test.verb + " --cluster " + test.cluster)
		if got := says(verb...); got != want || !strings.Contains(got, "--node container`\n") {
			t.Errorf("%q says\n%s`operon build` says\n%s", verb, got, want)
		}
	}
}

func TestBuildSaysWhatTheCompilerSays(t *testing.T) {
	t.Parallel()
	dir := small(t)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { x }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "web.tar")
	got := operon(t, "build", dir, "--tar", file)
	if got.code != exitFailed || !strings.HasPrefix(got.stderr, "operon: the operator does not compile for linux/") || !strings.Contains(got.stderr, "main.go:3:15: undefined: x") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

// If an image cannot have a revision label, one line states the reason. Without a repository, nothing is printed.
func TestBuildSaysWhyItNamesNoRevision(t *testing.T) {
	t.Parallel()
	ours, only := small(t), t.TempDir()
	if said, err := exec.Command("git", "init", "-q", ours).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	path, err := exec.LookPath("go")
	if err := errors.Join(err, os.Symlink(path, filepath.Join(only, "go"))); err != nil {
		t.Fatal(err)
	}
	const missing, refuses = "the image has no revision label: there is no git command on the PATH\n", "the image has no revision label: git says: fatal: detected dubious ownership in repository at '"
	for name, test := range map[string]struct{ dir, env, want string }{
		"no git":                        {ours, "PATH=" + only, missing},
		"a directory of another user's": {ours, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1", refuses},
		"no commit":                     {ours, "A=b", ""},
		"no repository, and no git":     {small(t), "PATH=" + only, ""},
	} {
		call := asOperonIn(t, "build", test.dir, "--tar", filepath.Join(t.TempDir(), "web.tar"))
		call.Env = append(call.Env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C", test.env)
		got := ended(t, call)
		if got.code != 0 || !strings.HasPrefix(got.stderr, test.want) || strings.Count(got.stderr, "\n") != min(len(test.want), 1) {
			t.Errorf("%s: exit %d\n%s", name, got.code, got.stderr)
		}
	}
}

func TestImagesOfFolders(t *testing.T) {
	t.Parallel()
	dir, file := small(t), filepath.Join(t.TempDir(), "web.tar")
	got := operon(t, "image", "from-dir", dir, "--image", "web:1", "--tar", file, "--entrypoint", "/main", "--entrypoint", "-v",
		"--cmd", "a, b", "--user", "7:8", "--env", "A=1,2", "--workdir", "/x", "--label", "team=a", "--platform", "linux/arm64")
	if got.code != 0 || !strings.HasPrefix(got.stdout, "linux/arm64: ") {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	written, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := written.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	run := config.Config
	if strings.Join(run.Entrypoint, "|") != "/main|-v" || strings.Join(run.Cmd, "|") != "a, b" || run.User != "7:8" || strings.Join(run.Env, "|") != "A=1,2" ||
		run.WorkingDir != "/x" || run.Labels["team"] != "a" || config.Architecture != "arm64" || config.Created.Unix() != 0 {
		t.Errorf("%+v", config)
	}
}
