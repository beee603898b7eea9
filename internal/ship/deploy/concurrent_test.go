package deploy_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/tools/up"
)

// A namespace that another client creates while a first deployment is prepared belongs to that client, with everything in it.
func TestNamespaceThatAppears(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Cleanup(func() { f.removeNamespace(t) })
	var once atomic.Bool
	defer func() { f.where = up.Where{} }() // the proxy ends before the cleanup
	f.where = f.behind(t, func(_ http.ResponseWriter, r *http.Request) bool {
		dry := r.URL.Query().Has("dryRun")
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/namespaces") && !dry && once.CompareAndSwap(false, true) {
			_, err := f.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace()}}, metav1.CreateOptions{})
			if err != nil {
				t.Error(err)
			}
		}
		return false
	})
	_, _, err := f.deploy(t, nil)
	if missing := refuses(err, "another client has started to deploy it", "Namespace "+f.namespace()); missing != nil {
		t.Error(missing)
	}
	found, err := f.client.CoreV1().Namespaces().Get(t.Context(), f.namespace(), metav1.GetOptions{})
	if err != nil || len(found.GetLabels()) > 1 { // kubernetes.io/metadata.name
		t.Errorf("the namespace: %v, %v", found.GetLabels(), err)
	}
}

// A deployment during which another one begins prunes nothing: it may be part of the other one.
func TestDeployTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	f.edit(t, "config/rbac/role.yaml", "kind: ClusterRole\n", "kind: Role\n")
	var once atomic.Bool
	f.where = f.behind(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/deployments/"+f.name) && !r.URL.Query().Has("dryRun") && once.CompareAndSwap(false, true) {
			_, err := f.client.CoreV1().ConfigMaps(f.namespace()).Patch(t.Context(), f.name+"-deployment", types.MergePatchType, []byte(`{"data":{"begun":"another"}}`), metav1.PatchOptions{})
			if err != nil {
				t.Error(err)
			}
		}
		return false
	})
	_, _, err := f.deploy(t, func(o *deploy.Options) { o.Image = "registry.example.com/gadget:2.0" })
	if missing := refuses(err, "another client has started to deploy it", "nothing is pruned"); missing != nil {
		t.Error(missing)
	}
	if _, err := f.client.RbacV1().ClusterRoles().Get(t.Context(), f.name, metav1.GetOptions{}); err != nil {
		t.Errorf("the ClusterRole: %v", err)
	}
	f.where = up.Where{}
	if made := f.mustDeploy(t, nil); !slices.Contains(made.Pruned, "ClusterRole "+f.name) {
		t.Errorf("the next deployment prunes %q", made.Pruned)
	}
}

// An API server that does not answer for a moment does not end the wait for the pods.
func TestServerIsRestarted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var missed atomic.Int32
	defer func() { f.where = up.Where{} }() // the proxy ends before the cleanup
	f.where = f.behind(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/deployments/"+f.name) || r.URL.Query().Has("dryRun") {
			return false
		}
		_, err := f.client.AppsV1().Deployments(f.namespace()).Get(r.Context(), f.name, metav1.GetOptions{})
		if err != nil || missed.Add(1) > 5 {
			return false
		}
		http.Error(w, "the leader of etcd has changed", http.StatusServiceUnavailable)
		return true
	})
	f.mustDeploy(t, nil)
	if missed.Load() < 5 {
		t.Errorf("only %d requests were not answered", missed.Load())
	}
}
