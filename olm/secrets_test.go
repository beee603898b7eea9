package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// Catalogs and bundles come from private registries, with the credentials in the Secrets that the CatalogSource names.
func TestPrivateCatalog(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.NewPrivate(t)
	source := w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n")
	w.Add(w.operatorGroup("group"), source, w.subscribe("shop"))
	awaitMessage := func(part string) {
		t.Helper()
		localtest.Eventually(t, "the message "+part, func(ctx context.Context) error {
			w.Must(w.Get(ctx, client.ObjectKeyFromObject(source), source))
			if !strings.Contains(source.Status.Message, part) {
				return fmt.Errorf("it is %q", source.Status.Message)
			}
			return nil
		})
	}
	names := func(secrets string) {
		t.Helper()
		w.Must(w.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"secrets":`+secrets+`}}`))))
	}
	awaitMessage("the registry answers with status 401")
	names(`["pull"]`)
	awaitMessage("spec.secrets[0]: the Secret pull does not exist in the namespace " + w.Namespace)
	w.Add(&corev1.Secret{ObjectMeta: w.Named("other")})
	names(`["other"]`)
	awaitMessage(`spec.secrets[0]: the Secret other has the type "Opaque"`)
	w.Add(&corev1.Secret{ObjectMeta: w.Named("pull"), Type: corev1.SecretTypeDockerConfigJson, StringData: map[string]string{
		corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths":{%q:{"username":%q,"password":%q}}}`, r.Host, registrytest.User, registrytest.Password),
	}})
	names(`["pull"]`)
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
}

// A plan does not install from a catalog that was deleted, although the manager has read it. When the catalog exists again, it
// does.
func TestDeletedCatalog(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	shop := w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n")
	again, plan := shop.DeepCopy(), w.plan("install-1", "0.0.1", "", v1alpha1.Manual)
	w.Add(w.operatorGroup("group"), shop, plan)
	w.awaitPlan(plan.Name, v1alpha1.PlanRequiresApproval)
	w.Must(w.Delete(t.Context(), shop))
	w.approve(plan)
	w.awaitRefusal(plan, v1alpha1.PlanPlanning, installplan.ReasonBundleUnreadable, "the catalog "+w.Namespace+"/shop does not exist")
	w.quiet()
	w.sent.mustNotContain(t, "clusterserviceversions/memcached")
	w.Add(again)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitPlan(plan.Name, v1alpha1.PlanComplete)
}
