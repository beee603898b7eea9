package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeProjectFile writes operon.yaml to a new directory.
func writeProjectFile(t *testing.T, content string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "operon.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const settingsOfAll = `image: web:1.0
registry: registry.example.com/team
cluster: dev
main: cmd/manager
namespace: web-system
replicas: 3
shards: 12
memory: 1Gi
watch-namespaces: [a, b]
`

// Each command reads only its own flags from operon.yaml. A value that a flag on the command line excludes is not used.
func TestCommandsReadTheProjectFile(t *testing.T) {
	t.Parallel()
	dir := writeProjectFile(t, settingsOfAll)
	for call, want := range map[string]string{
		"deploy":                      "push=registry.example.com/team/web:1.0 cluster=dev main=cmd/manager namespace=web-system replicas=3 shards=12 memory=1Gi watch-namespaces=[a,b]",
		"deploy --replicas 1":         "replicas=1 push=registry.example.com/team/web:1.0 shards=12",
		"deploy --image x":            "image=x push= memory=1Gi",
		"deploy --push":               "push= image=",
		"deploy --context staging":    "context=staging cluster= push=registry.example.com/team/web:1.0",
		"build":                       "push=registry.example.com/team/web:1.0 image= cluster= main=cmd/manager",
		"build --cluster other":       "cluster=other push= image=web:1.0",
		"build --tar web.tar":         "tar=web.tar push= cluster= image=web:1.0",
		"undeploy":                    "cluster=dev main=cmd/manager namespace=web-system",
		"logs -n other":               "cluster=dev namespace=other",
		"restart --kubeconfig x":      "cluster= kubeconfig=x namespace=web-system",
		"up":                          "cluster=dev main=cmd/manager",
		"up --cluster other --main x": "cluster=other main=x",
		"down":                        "cluster=", // the cluster of the last up
		"test":                        "cluster=dev",
		"test --context x":            "context=x cluster=",
		"prove":                       "main=cmd/manager namespace=",
		"prove --run x":               "main=",
		"lint":                        "main=cmd/manager",
	} {
		words := strings.Split(call, " ")
		if call == "deploy --push" {
			words[1] = "--push="
		}
		command, rest, err := newRoot().Find(words)
		if err != nil {
			t.Fatal(err)
		}
		if err := command.ParseFlags(rest); err != nil {
			t.Fatal(err)
		}
		if command.PreRunE != nil {
			if err := command.PreRunE(command, []string{dir}); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}
		for _, one := range strings.Fields(want) {
			flag, value, _ := strings.Cut(one, "=")
			if got := command.Flags().Lookup(flag).Value.String(); got != value {
				t.Errorf("%s: --%s is %q, want %q", call, flag, got, value)
			}
		}
	}
}

// An error in operon.yaml is reported in one line with its position, by every command. Commands without a project do not read
// the file.
func TestMistakesInTheProjectFile(t *testing.T) {
	t.Parallel()
	dir := writeProjectFile(t, "image: web:1.0\nreplica: 3\n")
	const want = "operon: operon.yaml:2: unknown key \"replica\"; did you mean \"replicas\"?\n"
	failing := []string{
		"build", "deploy", "undeploy", "logs", "restart", "up", "test", "prove", "lint", "generate", "explain a/b", "crd check x",
		"image from-dir x --image y", "image from-debian x --image y", "kubectl get pods", "cluster status", "image ls",
	}
	command := asOperonIn(t)
	command.Dir = dir
	for call, got := range each(t, command, slices.Values(append(failing, "version", "cluster list", "deploy --help"))) {
		switch fails := slices.Contains(failing, call); {
		case fails && (got.code != exitFailed || got.stderr != want), !fails && got.code != 0:
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
	if got := operon(t, "deploy", dir); got.stderr != strings.Replace(want, "operon.yaml", dir+"/operon.yaml", 1) {
		t.Error(got.stderr)
	}
}

// kubectl, explain and the cluster commands use the cluster in the file, unless the environment names another one.
func TestClusterOfTheProject(t *testing.T) {
	t.Parallel()
	dir := writeProjectFile(t, "cluster: dev\n")
	for _, variable := range []string{"", "other"} {
		command := asOperonIn(t, "kubectl", "get", "pods")
		command.Dir = dir
		script := filepath.Join(t.TempDir(), "operon-cluster")
		if err := os.WriteFile(script, []byte("#!/bin/sh\necho $OPERON_CLUSTER\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		command.Env = append(command.Env, "OPERON_CLUSTER_BINARY="+script, "OPERON_CLUSTER="+variable)
		want := "dev\n"
		if variable != "" {
			want = "other\n"
		}
		if got := ended(t, command); got.code != 0 || got.stdout != want {
			t.Errorf("OPERON_CLUSTER=%s: exit %d, %q, %s", variable, got.code, got.stdout, got.stderr)
		}
		command = asOperonIn(t, "explain", "pod/web")
		command.Dir, command.Env = dir, append(command.Env, "OPERON_CLUSTER="+variable)
		if got := ended(t, command); got.code != exitFailed || !strings.Contains(got.stderr, strings.TrimSpace(want)) {
			t.Errorf("OPERON_CLUSTER=%s: exit %d, %s", variable, got.code, got.stderr)
		}
	}
}
