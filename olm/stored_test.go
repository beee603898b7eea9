package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// fields returns a schema with numbers in spec.
func fields(names ...string) *apiextensionsv1.JSONSchemaProps {
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for _, name := range names {
		spec.Properties[name] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
	}
	return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}}
}

// A version that begins to convert a kind, with another version of the kind to store, loses no field of stored objects or of those that are written
// until it runs. If the upgrade is given up before, the kind works as it did.
func TestUpgradeThatConverts(t *testing.T) {
	t.Parallel()
	w, r := &world{T: t, Env: localtest.New(t, local.Options{Nodes: 1})}, registrytest.New(t)
	w.connect()
	w.run()
	h := newHooks(w)
	all := w.operatorGroup("group")
	all.Spec.TargetNamespaces = nil
	w.schema = fields("size")
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	bundles["0.0.2"] = h.converting(r, "0.0.2", "0.0.1", "Other", "v1beta1")
	bundles["0.0.3"] = h.converting(r, "0.0.3", "0.0.2", "Third", "v1beta1", "v1")
	w.Add(all, w.catalog(r, "shop", bundles, bothVersions+"- {name: memcached-operator.v0.0.3, replaces: memcached-operator.v0.0.2}\n"), w.plan("install-1", "0.0.1", "", v1alpha1.Automatic))
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitPlan("install-1", v1alpha1.PlanComplete)
	good := h.memcached("v1alpha1", "good")
	w.Add(good)

	connection, err := kube.New(w.Config, "operon-olm")
	w.Must(err)
	for _, plan := range []string{"given-up", "install-2"} {
		next := w.plan(plan, "0.0.2", "0.0.1", v1alpha1.Manual)
		w.Add(next)
		w.awaitPlan(plan, v1alpha1.PlanRequiresApproval)
		state := w.state(connection)
		at := slices.IndexFunc(state.Plans, func(one olm.InstallPlan) bool { return one.Name == plan })
		if problems := w.preview(connection, state, &state.Plans[at]).Problems; len(problems) > 0 {
			t.Errorf("before the approval, the problems are %q", problems)
		}
		w.approve(next)
		w.awaitPlan(plan, v1alpha1.PlanComplete)
		pending := w.AwaitPhase(second, v1alpha1.PhasePending, "RequirementsNotMet")
		h.keepsSize(plan)
		if plan == "given-up" {
			w.Must(w.Delete(t.Context(), next))
			w.Must(w.Delete(t.Context(), pending))
			w.AwaitGone(pending)
			h.keepsSize("after the upgrade was given up")
		}
	}
	h.stores("Other", second, "v1beta1")
	w.quiet()

	// The webhook of this version does not know the version that the next one stores.
	w.Add(w.plan("install-3", "0.0.3", "0.0.2", v1alpha1.Automatic))
	w.awaitPlan("install-3", v1alpha1.PlanComplete)
	w.AwaitPhase("memcached-operator.v0.0.3", v1alpha1.PhasePending, "RequirementsNotMet")
	h.touch(&v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(second)}, "again")
	w.quiet()
	if crd := h.crd(); storedIn(crd) != "v1beta1" || crd.Annotations["olm.stored-version"] != "v1" {
		t.Errorf("before the next version converts, the kind is stored in %s, with the annotations %v", storedIn(crd), crd.Annotations)
	}
	h.keepsSize("before the next version converts")
	h.stores("Third", "memcached-operator.v0.0.3", "v1")
}

// converting pushes a bundle with a webhook that converts between versions of Memcached, the last of which stores objects, and that requires a kind.
func (h *hooks) converting(r *registrytest.Registry, number, replaces, requires string, versions ...string) string {
	h.Helper()
	h.more = map[string]string{"manifests/crd.json": h.renamed(versions...)}
	text := strings.Replace(version(number, replaces), "    owned:\n", fmt.Sprintf("    required: [{name: %ss.$GROUP, version: v1, kind: %s}]\n    owned:\n", strings.ToLower(requires), requires), 1)
	for _, mode := range []string{"OwnNamespace", "SingleNamespace"} {
		text = strings.Replace(text, mode+", supported: true", mode+", supported: false", 1)
	}
	return h.bundle(r, number, strings.ReplaceAll(text+hooked, "$PORT", strconv.Itoa(int(h.port))))
}

// stores creates what a version of the operator requires, and waits until it stores objects in a version.
func (h *hooks) stores(requires, csv, stored string) {
	h.Helper()
	other, plural := h.definition(), strings.ToLower(requires)+"s"
	other.Name, other.Spec.Names = plural+"."+h.group, apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: requires}
	other.Spec.Versions[0].Name = "v1"
	h.Add(other)
	h.redirect()
	h.AwaitPhase(csv, v1alpha1.PhaseSucceeded, "")
	localtest.Eventually(h.T, "the kind is stored in "+stored, func(context.Context) error {
		crd := h.crd()
		if storedIn(crd) != stored || crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter || crd.Annotations["olm.stored-version"]+crd.Annotations["olm.converted-by"] != "" {
			return fmt.Errorf("it is stored in %s, with the conversion %+v and the annotations %v", storedIn(crd), crd.Spec.Conversion, crd.Annotations)
		}
		return nil
	})
	h.keepsSize("when the operator converts to " + stored)
	localtest.Eventually(h.T, "the object is converted", h.converted)
}

// renamed returns the CRD of memcached with further versions, in which the field has another name. Objects are stored in the last one.
func (h *hooks) renamed(versions ...string) string {
	h.Helper()
	h.schema = fields("size")
	crd := h.definition()
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	crd.Spec.Versions[0].Storage = false
	for i, name := range versions {
		next := *crd.Spec.Versions[0].DeepCopy()
		next.Name, next.Storage, next.Schema.OpenAPIV3Schema = name, i == len(versions)-1, fields("count")
		crd.Spec.Versions = append(crd.Spec.Versions, next)
	}
	return h.json(crd)
}

// keepsSize checks that a write in the older version keeps the field of the object.
func (h *hooks) keepsSize(when string) {
	h.Helper()
	good := h.memcached("v1alpha1", "good")
	h.Must(h.Get(h.Context(), client.ObjectKeyFromObject(good), good))
	good.SetAnnotations(map[string]string{"written": strings.ReplaceAll(when, " ", "-")})
	h.Must(h.Update(h.Context(), good))
	h.Must(h.Get(h.Context(), client.ObjectKeyFromObject(good), good))
	if spec := fmt.Sprint(good.Object["spec"]); spec != "map[size:3]" {
		h.Errorf("%s: the object has %s", when, spec)
	}
}

func storedIn(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, one := range crd.Spec.Versions {
		if one.Storage {
			return one.Name
		}
	}
	return ""
}

// A plan for an older version leaves a definition as the newer version of the operator in another namespace needs it.
func TestDefinitionOfANewerVersion(t *testing.T) {
	t.Parallel()
	w, r := &world{T: t, Env: localtest.Shared(t)}, registrytest.New(t)
	w.connect()
	elsewhere := w.Namespace + "-b"
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}})
	w.Cleanup(func() {
		w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(t.Context()), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}})))
	})
	crd := w.definition()
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(t.Context()), crd))) })
	w.run(w.Namespace, elsewhere)
	w.schema = fields("size")
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	w.schema = fields("size", "new")
	w.more = map[string]string{"manifests/reader.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: reader}}"}
	bundles["0.0.2"] = w.bundle(r, "0.0.2", strings.ReplaceAll(memcached, "0.0.1", "0.0.2"))
	shop := w.catalog(r, "shop", bundles, bothVersions)

	group, newer, there := w.operatorGroup("group"), w.plan("install-2", "0.0.2", "", v1alpha1.Automatic), shop.DeepCopy()
	group.Namespace, newer.Namespace, there.Namespace, group.Spec.TargetNamespaces = elsewhere, elsewhere, elsewhere, []string{elsewhere}
	newer.Annotations["olm.bundles"] = second + "=" + elsewhere + "/shop"
	w.Add(group, there, newer)
	has := func(namespace, name string) {
		t.Helper()
		localtest.Eventually(t, name+" works in "+namespace, func(ctx context.Context) error {
			csv := &v1alpha1.ClusterServiceVersion{}
			if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, csv); err != nil || csv.Status.Phase != v1alpha1.PhaseSucceeded {
				return fmt.Errorf("its status is %+v, error %w", csv.Status, err)
			}
			return nil
		})
	}
	has(elsewhere, second)
	w.Add(w.operatorGroup("group"), shop, w.plan("install-1", "0.0.1", "", v1alpha1.Automatic))
	done := w.awaitPlan("install-1", v1alpha1.PlanComplete)
	has(w.Namespace, first)
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(crd), crd))
	if _, kept := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["new"]; !kept {
		t.Errorf("the definition is that of the older version: %+v", crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
	for _, step := range done.Status.Plan {
		if step.Resource.Kind == "CustomResourceDefinition" && step.Status != v1alpha1.StepPresent {
			t.Errorf("the step of the definition is %s", step.Status)
		}
	}
	w.Must(w.DeleteAllOf(t.Context(), &v1alpha1.InstallPlan{}, client.InNamespace(elsewhere)))
	left := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: second}}
	w.Must(w.Delete(t.Context(), left))
	w.AwaitGone(left)
}
