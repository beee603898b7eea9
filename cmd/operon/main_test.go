package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

// asOperon makes the test binary run operon, or with the value many several commands of it.
const (
	asOperon = "OPERON_TEST_AS_OPERON"
	many     = "many"
)

func TestMain(m *testing.M) {
	switch os.Getenv(asOperon) {
	case "":
		os.Exit(m.Run())
	case many:
		runMany()
	default:
		main()
	}
}

// printed is a result that a process writes for another one.
type printed struct {
	Stdout, Stderr string
	Code           int
}

// runMany runs the commands whose arguments are on the standard input, one after the other, and writes their results to the standard output.
func runMany() {
	var calls [][]string
	if err := json.NewDecoder(os.Stdin).Decode(&calls); err != nil {
		panic(err)
	}
	var results []printed
	for _, args := range calls {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), args, &stdout, &stderr)
		results = append(results, printed{stdout.String(), stderr.String(), code})
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// result is the result of one run of the command.
type result struct {
	stdout, stderr string
	code           int
}

// operon runs the command with a fake operon-cluster, which prints its name and arguments.
func operon(t *testing.T, args ...string) result {
	t.Helper()
	return ended(t, asOperonIn(t, args...))
}

// asOperonIn returns such a run without starting it.
func asOperonIn(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	fake := filepath.Join(t.TempDir(), "fake")
	testaid.Program(t, fake, "#!/bin/sh\necho \"called with $*\"\n[ \"$1\" != list ] || { echo '[]'; exit 0; }\nexit 42\n")
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), asOperon+"=yes", "OPERON_CLUSTER_BINARY="+fake, "OPERON_HOME="+t.TempDir())
	return command
}

// ended runs a command until it ends, and returns the result.
func ended(t *testing.T, command *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

// endedMany runs commands like ended, with different arguments in the process of one command: to start a process for each takes longer than most of them.
// They must not use the standard files themselves.
func endedMany(t *testing.T, command *exec.Cmd, calls ...[]string) []result {
	t.Helper()
	input, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	command.Env, command.Stdin = append(command.Env, asOperon+"="+many), bytes.NewReader(input)
	all := ended(t, command)
	var read []printed
	if err := json.Unmarshal([]byte(all.stdout), &read); err != nil || len(read) != len(calls) || all.stderr != "" {
		t.Fatalf("exit %d, %v, results of %d of %d commands\n%s%s", all.code, err, len(read), len(calls), all.stdout, all.stderr)
	}
	var results []result
	for _, one := range read {
		results = append(results, result{one.Stdout, one.Stderr, one.Code})
	}
	return results
}

// each is endedMany for command lines, whose words are separated by spaces.
func each(t *testing.T, command *exec.Cmd, lines iter.Seq[string]) iter.Seq2[string, result] {
	t.Helper()
	all := slices.Collect(lines)
	var calls [][]string
	for _, line := range all {
		calls = append(calls, strings.Fields(line))
	}
	results := endedMany(t, command, calls...)
	return func(yield func(string, result) bool) {
		for i, line := range all {
			if !yield(line, results[i]) {
				return
			}
		}
	}
}

func TestMistakesInTheCommandLine(t *testing.T) {
	t.Parallel()
	wants := map[string]string{
		"upp":                                 `operon: unknown command "upp" for "operon"; did you mean "operon up"?`,
		"cluster upp":                         `operon: unknown command "upp" for "operon cluster"; did you mean "operon cluster up"?`,
		"cluster list x":                      `operon: unexpected argument "x"`,
		"xyzzy":                               `operon: unknown command "xyzzy" for "operon"` + "\n",
		"--bad":                               "operon: unknown flag: --bad",
		"up --bad":                            "operon: unknown flag: --bad",
		"up a b":                              `operon: want one directory, got 2`,
		"up -o json":                          "operon: --output and --timeout need --once",
		"up --cluster a --context b":          "operon: --cluster is for local clusters",
		"down --cluster a --kubeconfig b":     "operon: --cluster is for local clusters",
		"explain memcached":                   `operon: want one object, as KIND/NAME`,
		"explain memcached/":                  `operon: "memcached/": want KIND/NAME`,
		"prove a b":                           "operon: want one directory",
		"prove --plans 0":                     "operon: --plans, --budget and --settle must be greater than 0",
		"prove --run true":                    "operon: --run needs --samples PATH",
		"prove --replay a --crds b":           "operon: --replay takes manifests from its file",
		"prove --replay a --run b c":          "operon: --replay takes manifests from its file",
		"prove --trust-file":                  "operon: --trust-file is for --replay",
		"explain a/b --endpoint nonsense":     "operon: --endpoint nonsense: want HOST:PORT",
		"explain a/b --cluster c --context d": "operon: --cluster is for local clusters",
		"deploy --context a":                  "operon: want --image NAME, or --push NAME",
		"deploy --image a --push b":           "operon: --push and --platform are for an image that is built",
		"deploy --push A":                     `operon: the image name "A"`,
		"deploy --platform windows/amd64":     `operon: the platform "windows/amd64"`,
		"deploy --image a --memory much":      "operon: --memory much: want an amount, such as 512Mi",
		"deploy --image a --memory 0":         "operon: --memory 0: want an amount, such as 512Mi",
		"deploy a b":                          "operon: want one directory, got 2",
		"deploy --image a --replicas 0":       "operon: --replicas 0: want at least 1",
		"deploy --cluster a --context b":      "operon: --cluster is for local clusters",
		"undeploy --give-up-finalizers":       "operon: --give-up-finalizers needs --delete-data",
		"logs --tail -2":                      "operon: --tail -2: want a number of lines",
		"logs --since -1s":                    "operon: --since -1s: want a duration",
		"logs -f --previous":                  "operon: --previous is about containers that have ended",
		"restart a b":                         "operon: want one directory, got 2",
		"crd chek":                            `operon: unknown command "chek" for "operon crd"; did you mean "operon crd check"?`,
		"crd check":                           "operon: want a file or a directory",
		"init a b":                            "operon: want one directory",
		"create apo":                          `operon: unknown command "apo" for "operon create"; did you mean "operon create api"?`,
		"create api --scope both":             "operon: --scope both: want namespaced or cluster",
		"create api Lamp":                     `operon: unexpected argument "Lamp"`,
		"completion tcsh":                     "operon: want one shell of bash, zsh, fish, powershell, got",
		"completion":                          "operon: want one shell of bash, zsh, fish, powershell, got",
		"generate a b":                        "operon: want one directory, got 2",
		"generate --docs out":                 "operon: directory out does not exist; if it is the value of --docs, write --docs=out",
		"generate --check --dry-run":          "operon: --check and --dry-run both write nothing",
		"generate --max-description long":     "operon: --max-description=long: want a whole number",
		"build a b":                           "operon: want one directory, got 2",
		"build -o x.tar":                      "operon: -o x.tar: want text, json or yaml; --tar x.tar writes the image to that file",
		"build --platform windows/amd64":      `operon: the platform "windows/amd64": images are made for linux`,
		"build --cluster a --tar b":           "operon: --cluster cannot be combined with --tar",
		"build --push A":                      `operon: the image name "A"`,
		"image from-dur":                      `operon: unknown command "from-dur" for "operon image"; did you mean "operon image from-dir"?`,
		"image from-dir a":                    "operon: the image needs a name: --image NAME",
		"image from-dir --image a":            "operon: want one directory, got 0",
		"image from-dir a --image b --env c":  "operon: --env c: want NAME=VALUE",
		"image from-debian --image a":         "operon: name at least one package",
		"image from-debian a/b --image c":     `operon: "a/b" is not a valid name of a Debian package`,
		"dev":                                 `operon: unknown command "dev" for "operon"; did you mean "operon up"?`,
		"cluster delete":                      `operon: unknown command "delete" for "operon cluster"; did you mean "operon cluster down"?`,
		"help foo":                            `operon: unknown command "foo" for "operon"`,
		"cluster up -v 2":                     "operon: -v 2: the log level of a cluster is --log-level 2",
		"cluster up -v -q":                    "operon: use --verbose or --quiet, not both",
		"image ls --color blue":               "operon: --color blue: want auto, always or never",
		"stop":                                `operon: unknown command "stop" for "operon"; did you mean "operon down"?`,
		"create api --cluster":                "operon: --cluster is called --scope cluster now",
		"explain --name a b/c":                "operon: --name is called --cluster now",
		"deploy --watch=a":                    "operon: --watch is called --watch-namespaces now",
		"build --again":                       "operon: --again is called --no-cache now",
		"create api --no-controller":          "operon: --no-controller is called --controller=false now",
		"undeploy --keep-data":                "operon: --keep-data is the default now; --delete-data is its opposite",
		"doctor .":                            `operon: unexpected argument "."; to check the project in a directory, use "operon lint ."`,
		"prove --rbac":                        "operon: --rbac needs a PATH of Roles; --print-rbac prints the Role that the operator needs",
		"prove --rbac a":                      "operon: --rbac needs --run",
		"doctor --color blue":                 "operon: --color blue: want auto, always or never",
		"doctor -v -q":                        "operon: use --verbose or --quiet, not both",
		"olm stats":                           `operon: unknown command "stats" for "operon olm"; did you mean "operon olm status"?`,
		"olm list":                            `operon: unknown command "list" for "operon olm"; did you mean "operon olm status"?`,
		"olm status -n a -A":                  "operon: use --namespace or --all-namespaces, not both",
		"olm status --cluster a --context b":  "operon: --cluster is for local clusters",
		"olm explain":                         "operon: want the name of one Subscription, ClusterServiceVersion, InstallPlan or ClusterExtension, got 0 arguments",
		"olm plan a b":                        "operon: want the name of one InstallPlan",
		"olm upgrade a -o json":               "operon: --output needs --dry-run",
		"olm install --image a --push b":      "operon: --push is for an image that is made, and --image names an existing one",
		"olm uninstall --keep-operators --delete-crds": "operon: --delete-crds deletes the operators, which --keep-operators keeps",
		"version now": `operon: unexpected argument "now"`,
	}
	for call, got := range each(t, asOperonIn(t), maps.Keys(wants)) {
		if got.code != exitFailed || !strings.HasPrefix(got.stderr, wants[call]) || !strings.Contains(got.stderr, "see `operon") {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
}

func TestFailuresAreOneLine(t *testing.T) {
	t.Parallel()
	wants := map[string]string{
		"up /nowhere":        "operon: directory /nowhere does not exist; name the directory of an operator project\n",
		"crd check /nowhere": "operon: there is no file or directory /nowhere: name a file or a directory of CustomResourceDefinitions, such as config/crd\n",
		"crd check .":        "operon: . has no CustomResourceDefinition in it: name a file or a directory of CustomResourceDefinitions, such as config/crd\n",
		"crd check crd.go":   "operon: crd.go:22: mapping values are not allowed in this context; want manifests in YAML or JSON: name a file or a directory of CustomResourceDefinitions, such as config/crd\n",
		"crd check ../../examples/site/config/samples/site.yaml": "operon: ../../examples/site/config/samples/site.yaml has no CustomResourceDefinition in it: name a file or a directory of CustomResourceDefinitions, such as config/crd\n",
		// Of several paths, the error names the unusable one.
		"crd check ../../examples/site/config/crd /nowhere": "operon: there is no file or directory /nowhere: name a file or a directory of CustomResourceDefinitions, such as config/crd\n",
		"deploy /nowhere --image a":                         "operon: directory /nowhere does not exist; name the directory of an operator project\n",
		"undeploy /nowhere":                                 "operon: directory /nowhere does not exist; name the directory of an operator project\n",
		"logs /nowhere":                                     "operon: directory /nowhere does not exist; name the directory of an operator project\n",
		"restart /nowhere":                                  "operon: directory /nowhere does not exist; name the directory of an operator project\n",
		"build /nowhere --tar a":                            "operon: directory /nowhere does not exist; name the directory of an operator project\n",
		"image from-dir main.go --image a --tar b":          "operon: main.go is a file; name the directory that becomes the root of the image\n",
		"down /nowhere":                                     "operon: directory /nowhere does not exist; name the directory of an operator project\n",
	}
	for call, got := range each(t, asOperonIn(t), maps.Keys(wants)) {
		if got.code != exitFailed || got.stderr != wants[call] {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
}

func TestEveryVerbHasHelpWithAnExample(t *testing.T) {
	t.Parallel()
	var calls []string
	for _, command := range newRoot().Commands() {
		calls = append(calls, command.Name()+" --help")
	}
	for call, got := range each(t, asOperonIn(t), slices.Values(calls)) {
		if got.code != 0 || !strings.Contains(got.stdout, "Examples:\n  operon "+strings.TrimSuffix(call, " --help")) {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stdout)
		}
	}
}

func TestClusterAndKubectlPassEverythingOn(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"cluster up --cluster x -o json": "called with up --cluster x -o json\n",
		"kubectl get pods -A --help":     "called with kubectl get pods -A --help\n",
		"image load --cluster x web.tar": "called with image load --cluster x web.tar\n",
		"image ls -o json":               "called with image ls -o json\n",
	} {
		if got := operon(t, strings.Fields(call)...); got.code != 42 || got.stdout != want {
			t.Errorf("%s: exit %d, %q", call, got.code, got.stdout)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if got := operon(t, "version"); got.code != 0 || !strings.HasPrefix(got.stdout, "operon ") {
		t.Errorf("exit %d, %q", got.code, got.stdout)
	}
	var id identity
	got := operon(t, "version", "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &id); err != nil || id.Version == "" || id.Go != runtime.Version() || id.Platform == "" {
		t.Errorf("exit %d, %q, %v", got.code, got.stdout, err)
	}
	dirty := identity{Version: "v1.0.0", Revision: "abc", Modified: true, Go: "go1", Platform: "a/b"}
	if line := dirty.String(); line != "operon v1.0.0, go1 a/b, built from abc with changes" {
		t.Error(line)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	var calls [][]string
	for _, shell := range shells {
		calls = append(calls, []string{"completion", shell})
	}
	for i, got := range endedMany(t, asOperonIn(t), calls...) {
		if got.code != 0 || !strings.Contains(got.stdout, "__complete") {
			t.Errorf("%s: exit %d, %q", shells[i], got.code, got.stderr)
		}
	}
	for words, want := range map[string]string{
		"create ":                   "api\t",
		"completion z":              "zsh\n",
		"create api --version ":     "v1alpha1\n",
		"up --on":                   "--once\t",
		"create webhook --kind ":    "Memcached\n",
		"create webhook --group ca": "cache.example.com\n",
	} {
		arguments := append([]string{"__complete"}, strings.Split(words, " ")...)
		call := asOperonIn(t, arguments...)
		call.Dir = "../../examples/memcached"
		if got := ended(t, call); !strings.Contains(got.stdout, want) {
			t.Errorf("%q gives %q, want %q", words, got.stdout, want)
		}
	}
}
