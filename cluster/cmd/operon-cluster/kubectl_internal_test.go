package main

import (
	"os"
	"strings"
	"testing"
)

// Without a running cluster, only commands that name another one, or need none, may run. What follows -- belongs to a container: kubectl must not
// use the user's own cluster because of it.
func TestKubectlNeedsTheCluster(t *testing.T) {
	t.Setenv("OPERON_HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "/users/own")
	for line, needs := range map[string]bool{
		"get pods": true, "exec db-0 -- psql -h localhost": true, "exec web -- df --help": true, "run x --image=y -- z --kubeconfig=/a": true,
		"get pods --kubeconfig /a": false, "get pods --kubeconfig=/a": false, "get -h": false, "help": false, "completion bash": false, "": false,
		"version": true, "version --client=false": true, "get pods --client": true, "version --client": false, "version -o json --client=true": false, "options": false, "plugin list": false,
	} {
		if err := pointKubectl("default", strings.Fields(line)); needs != (err != nil) {
			t.Errorf("%q: needs the cluster: %v, %v", line, needs, err)
		}
		if os.Getenv("KUBECONFIG") != "/users/own" {
			t.Errorf("%q changed KUBECONFIG", line)
		}
	}
}
