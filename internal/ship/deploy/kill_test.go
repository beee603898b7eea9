package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// deploysProject is an environment variable with a project. If it is set, this binary deploys the project to the cluster of
// inKubeconfig, instead of testing.
const (
	deploysProject = "OPERON_TEST_DEPLOY"
	inKubeconfig   = "OPERON_TEST_DEPLOY_KUBECONFIG"
)

func deployUntilKilled(dir string) {
	target := deploy.Target{Dir: dir, Where: up.Where{Kubeconfig: os.Getenv(inKubeconfig)}, Progress: os.Stdout}
	_, err := deploy.Run(context.Background(), deploy.Options{Target: target, Image: "registry.example.com/gadget:1.0"})
	fmt.Println(err)
	os.Exit(1)
}

// killed deploys the fixture in a separate process, which is killed when it sends a certain write. The write has no effect.
func (f *fixture) killed(t *testing.T, method, path string) {
	t.Helper()
	reached := make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached) })
	where := f.behind(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || !strings.HasSuffix(r.URL.Path, path) || r.URL.Query().Has("dryRun") {
			return false
		}
		reach()
		_, err := io.Copy(io.Discard, r.Body) // only after this is its connection watched
		if err == nil {
			<-r.Context().Done() // until the other process has ended
		}
		return true
	})
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), deploysProject+"="+f.dir, inKubeconfig+"="+where.Kubeconfig)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case <-reached:
		if err := errors.Join(command.Process.Kill(), <-ended); command.ProcessState.Exited() {
			t.Fatalf("it was not killed: %v\n%s", err, &said)
		}
	case err := <-ended:
		t.Fatalf("it ended: %v\n%s", err, &said)
	case <-time.After(localtest.Patience):
		t.Fatalf("waited %s for it to %s %s: %v", localtest.Patience, method, path, errors.Join(command.Process.Kill(), <-ended))
	}
}

// If a deployment is killed at any point, the next one completes it with the same result.
func TestKilledDeployments(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ method, path string }{
		"with a namespace only":      {http.MethodPost, "/configmaps"},
		"with its definitions":       {http.MethodPatch, "/serviceaccounts/NAME"},
		"with all but its pods":      {http.MethodPatch, "/deployments/NAME"},
		"with all but its readiness": {http.MethodPatch, "/configmaps/NAME-deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.killed(t, at.method, strings.ReplaceAll(at.path, "NAME", f.name))
			if made := f.mustDeploy(t, nil); made.Replicas != 2 {
				t.Errorf("%+v", made)
			}
			f.isDone(t)
		})
	}
}

// This also applies to an update. Then objects that the new version no longer has are deleted.
func TestKilledUpdates(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ method, path string }{
		"with new rights and old pods": {http.MethodPatch, "/deployments/NAME"},
		"with old rights still":        {http.MethodDelete, "/clusterroles/NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.mustDeploy(t, func(o *deploy.Options) { o.Image = "registry.example.com/gadget:0.9" })
			f.edit(t, "config/rbac/role.yaml", "kind: ClusterRole\n", "kind: Role\n")
			f.killed(t, at.method, strings.ReplaceAll(at.path, "NAME", f.name))
			if made := f.mustDeploy(t, nil); !slices.Contains(made.Pruned, "ClusterRole "+f.name) {
				t.Errorf("%+v", made)
			}
			f.isDone(t)
		})
	}
}

// A deployment that was killed can be undeployed.
func TestUndeployOfAKilledDeployment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.killed(t, http.MethodPatch, "/deployments/"+f.name)
	removal, said, err := f.undeploy(t, nil)
	if err != nil || !slices.Contains(removal.Removed, "ClusterRole "+f.name) {
		t.Errorf("%v\n%s", err, said)
	}
	f.noNamespace(t)
}

// isDone checks that a deployment is complete, and that its record names no process that is deploying it.
func (f *fixture) isDone(t *testing.T) {
	t.Helper()
	record, err := f.client.CoreV1().ConfigMaps(f.namespace()).Get(t.Context(), f.name+"-deployment", metav1.GetOptions{})
	if err != nil || record.Data["begun"] != "" {
		t.Errorf("the record: %v, %v", record.Data, err)
	}
	if again := f.mustDeploy(t, nil); len(again.Created)+len(again.Changed)+len(again.Pruned) > 0 {
		t.Errorf("there was something left to do: %+v", again)
	}
}
