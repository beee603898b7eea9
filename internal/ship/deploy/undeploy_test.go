package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// After Undeploy, a cluster is the same as before Run. The test uses two operators, one having custom resources with
// finalizers and the other custom resources with child objects. Each has only the permissions of its deployment.
func TestClusterIsAsBefore(t *testing.T) {
	t.Parallel()
	env := localtest.New(t, local.Options{})
	one := fixtureIn(t, env)
	other := &fixture{dir: "../../../examples/memcached", name: "memcached-operator", env: env, client: one.client}
	before := furnished(t, env)
	for _, f := range []*fixture{one, other} {
		f.mustDeploy(t, nil)
	}
	runOperator(t, env, one.dir, one.namespace(), one.name)
	runOperator(t, env, other.dir, other.namespace(), other.name, "--leader-elect", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	for i := range 3 {
		gadget := one.gadget(fmt.Sprintf("live-%d", i))
		gadget.Object["spec"] = map[string]any{"size": int64(1), "finalize": true}
		create(t, one.gadgets(), gadget)
	}
	memcacheds := dynamic.NewForConfigOrDie(env.Config).Resource(memcachedResource).Namespace(env.Namespace)
	create(t, memcacheds, memcached("cache", 2))
	localtest.Eventually(t, "finalizers and children", func(ctx context.Context) error {
		gadget, err := one.gadgets().Get(ctx, "live-2", metav1.GetOptions{})
		if err != nil || len(gadget.GetFinalizers()) == 0 {
			return fmt.Errorf("%v has no finalizer: %w", gadget, err)
		}
		deployment, err := one.client.AppsV1().Deployments(env.Namespace).Get(ctx, "cache", metav1.GetOptions{})
		if err == nil && deployment.Status.ReadyReplicas != 2 {
			err = fmt.Errorf("%d replicas", deployment.Status.ReadyReplicas)
		}
		return err
	})
	for _, f := range []*fixture{one, other} {
		removal, said, err := f.undeploy(t, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		for _, want := range []string{"Deployment " + f.namespace() + "/" + f.name, "Namespace " + f.namespace()} {
			if !slices.Contains(removal.Removed, want) {
				t.Errorf("%s is not listed in %q", want, removal.Removed)
			}
		}
	}
	asBefore(t, env, before)
}

// furnished returns all objects in a new cluster, after the cluster and each of its namespaces have the objects that
// Kubernetes creates automatically, and no more of them appear.
func furnished(t *testing.T, env *localtest.Env) (all map[string]any) {
	t.Helper()
	localtest.Eventually(t, "what each namespace has", func(ctx context.Context) (err error) {
		before := len(all)
		if all, err = everything(ctx, env); err != nil {
			return err
		}
		if len(all) != before {
			return fmt.Errorf("there were %d objects and are %d", before, len(all))
		}
		want := []string{
			"configmaps kube-system/extension-apiserver-authentication", "configmaps kube-system/kube-apiserver-legacy-service-account-token-tracking",
			"services default/kubernetes",
		}
		for _, namespace := range []string{"default", "kube-node-lease", "kube-public", "kube-system", env.Namespace} {
			want = append(want, "namespaces /"+namespace, "serviceaccounts "+namespace+"/default", "configmaps "+namespace+"/kube-root-ca.crt")
		}
		var missing []error
		for _, key := range want {
			if all[key] == nil {
				missing = append(missing, errors.New("there is no "+key))
			}
		}
		return errors.Join(missing...)
	})
	return all
}

// asBefore compares the objects in a cluster with earlier ones. Controllers delete some objects with a delay after the
// objects that needed them.
func asBefore(t *testing.T, env *localtest.Env, before map[string]any) {
	t.Helper()
	localtest.Eventually(t, "all to be as before", func(ctx context.Context) error {
		after, err := everything(ctx, env)
		if err != nil {
			return err
		}
		var differ []error
		for _, key := range slices.Sorted(maps.Keys(before)) {
			if !reflect.DeepEqual(before[key], after[key]) {
				differ = append(differ, fmt.Errorf("%s was\n%v\nand is\n%v", key, before[key], after[key]))
			}
			delete(after, key)
		}
		for _, key := range slices.Sorted(maps.Keys(after)) {
			differ = append(differ, errors.New("left behind: "+key))
		}
		return errors.Join(differ...)
	})
}

var (
	memcachedResource  = schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}
	definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func memcached(name string, size int64) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}}}
	made.SetAPIVersion("cache.example.com/v1alpha1")
	made.SetKind("Memcached")
	made.SetName(name)
	return made
}

// everything returns the content of all objects of a cluster, of all kinds. It leaves out Events, which are deleted
// automatically, and the content of objects that Kubernetes updates continually.
func everything(ctx context.Context, env *localtest.Env) (map[string]any, error) {
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(env.Config).ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	resources, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists))
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	client := dynamic.NewForConfigOrDie(env.Config)
	for resource := range resources {
		if resource.Resource == "events" {
			continue
		}
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", resource, err)
		}
		for _, object := range list.Items {
			key := fmt.Sprintf("%s %s/%s", resource.GroupResource(), object.GetNamespace(), object.GetName())
			all[key] = steady(&object)
		}
	}
	return all, nil
}

func steady(object *unstructured.Unstructured) any {
	if object.GetKind() == "Lease" || object.GetKind() == "Node" {
		return "there"
	}
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	delete(object.Object, "status")
	return object.Object
}

func create(t *testing.T, objects dynamic.ResourceInterface, object *unstructured.Unstructured) {
	t.Helper()
	if _, err := objects.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// gone returns an error while an object exists.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("it is there: %w", err)
}

// Objects that wait for an operator that does not run are not deleted, and their finalizers are removed only on request. Its webhook, which
// nothing answers, does not prevent that.
func TestFinalizersWithoutAnOperator(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	create(t, f.gadgets(), f.gadget("held", f.group+"/minded"))
	f.registersWebhook(t, admissionv1.Delete)
	f.stop(t)
	_, _, err := f.undeploy(t, nil)
	if missing := refuses(err, "nothing was removed", "the operator no longer exists", f.group+"/minded", "--give-up-finalizers"); missing != nil {
		t.Error(missing)
	}
	held, err := f.gadgets().Get(t.Context(), "held", metav1.GetOptions{})
	if err != nil || held.GetDeletionTimestamp() != nil {
		t.Fatalf("it was begun with: %v", err)
	}
	_, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.GiveUpFinalizers = true })
	if missing := errors.Join(err, lacks(said, "removed finalizer "+f.group+"/minded", "removed Namespace "+f.namespace())); missing != nil {
		t.Error(missing)
	}
}

// If an operator runs and does not clear a finalizer, the error describes what waits for what, and nothing that the operator
// needs is removed.
func TestStuck(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	create(t, f.gadgets(), f.gadget("held", "somebody.example.com/else"))
	var missing error
	for patience := 2 * time.Second; patience < timeout; patience *= 4 { // the first is enough if the machine is not busy
		_, _, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.Timeout = patience })
		missing = refuses(err, fmt.Sprintf("not done after %s: 1 object left", patience), "/held waits for its finalizer somebody.example.com/else", "operon logs")
		if missing == nil {
			break
		}
	}
	if missing != nil {
		t.Error(missing)
	}
	if _, err := f.client.AppsV1().Deployments(f.namespace()).Get(t.Context(), f.name, metav1.GetOptions{}); err != nil {
		t.Errorf("the operator: %v", err)
	}
}

// A deployment of the same operator in another namespace keeps its registrations, and so does a custom resource its children.
func TestUndeployKeepsRegistrationsOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	hooks := f.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	register := func(name, namespace, owner string) {
		labels := map[string]string{"app.kubernetes.io/managed-by": f.name}
		if owner != "" {
			labels["operon.dev/owner"] = owner
		}
		none := admissionv1.SideEffectClassNone
		_, err := hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: f.name + "-" + name, Labels: labels},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: name + "." + f.group, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
				ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: namespace, Name: "webhook"}},
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := hooks.Delete(context.WithoutCancel(t.Context()), f.name+"-"+name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		})
	}
	register("own", f.namespace(), "")
	register("other", f.env.Namespace, "")
	register("child", f.namespace(), "0d1f3b6c-5c9f-4a3e-9d0e-6a8f3a1c7b55")
	if _, said, err := f.undeploy(t, nil); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for name, stays := range map[string]bool{"own": false, "other": true, "child": true} {
		_, err := hooks.Get(t.Context(), f.name+"-"+name, metav1.GetOptions{})
		if stays && err != nil || !stays && gone(err) != nil {
			t.Errorf("the registration %s stays %t: %v", name, stays, err)
		}
	}
}

// Definitions that another deployment uses are kept with their objects. The last deployment removes them.
func TestSharedDefinitions(t *testing.T) {
	t.Parallel()
	first := newFixture(t)
	first.mustDeploy(t, nil)
	second := *first
	second.dir, second.name = t.TempDir(), first.name+"-b"
	if err := os.CopyFS(second.dir, os.DirFS(first.dir)); err != nil {
		t.Fatal(err)
	}
	second.edit(t, "go.mod", first.name, second.name)
	t.Cleanup(func() { second.cleanUp(t) })
	second.mustDeploy(t, nil)
	create(t, first.gadgets(), first.gadget("shared"))
	_, said, err := first.undeploy(t, nil)
	if missing := errors.Join(err, lacks(said, "the deployment of "+second.name+" in namespace "+second.namespace()+" also uses it")); missing != nil {
		t.Fatal(missing)
	}
	if _, err := first.gadgets().Get(t.Context(), "shared", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	removal, _, err := second.undeploy(t, nil)
	if err != nil || !slices.Contains(removal.Removed, "CustomResourceDefinition gadgets."+first.group) {
		t.Errorf("%v, removed %+v", err, removal)
	}
}

// Objects that another client created in the operator's namespace are kept, and so is the namespace. The operator's own Leases are not.
func TestForeignObjectsInTheNamespace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	owner, err := f.client.RbacV1().ClusterRoles().Get(t.Context(), "view", metav1.GetOptions{}) // any cluster-scoped object that remains
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: owner.Name, UID: owner.UID},
	}}}
	if _, err := f.client.CoreV1().ConfigMaps(f.namespace()).Create(t.Context(), mine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	leases := f.client.CoordinationV1().Leases(f.namespace())
	migrations := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-migrations"}}
	if _, err := leases.Create(t.Context(), migrations, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.CoreV1().Secrets(f.namespace()).Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), f.namespace(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	_, said, err := f.undeploy(t, nil)
	if missing := errors.Join(err, lacks(said, "kept Namespace "+f.namespace(), "ConfigMap "+f.namespace()+"/mine", "Secret "+f.namespace()+"/owned")); missing != nil {
		t.Error(missing)
	}
	if _, err := f.client.CoreV1().ConfigMaps(f.namespace()).Get(t.Context(), "mine", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := leases.Get(t.Context(), migrations.Name, metav1.GetOptions{}); gone(err) != nil {
		t.Errorf("the Lease of migrations: %v", gone(err))
	}
	if again, said, err := f.undeploy(t, nil); err != nil || !again.Absent || !strings.Contains(said, "nothing to remove") {
		t.Errorf("again: %v\n%s", err, said)
	}
}

// A namespace and definitions that existed before are used and kept.
func TestWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.env.InstallCRDs(t, f.dir+"/config/crd")
	into := func(target *deploy.Target) { target.Namespace = f.env.Namespace }
	_, said, err := f.deploy(t, func(o *deploy.Options) { into(&o.Target) })
	if missing := errors.Join(err, lacks(said, "Namespace "+f.env.Namespace+" existed before", "CustomResourceDefinition gadgets."+f.group+" existed before")); missing != nil {
		t.Fatal(missing)
	}
	create(t, f.gadgets(), f.gadget("mine"))
	removal, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) { into(&o.Target) })
	if err != nil || slices.Contains(removal.Removed, "Namespace "+f.env.Namespace) {
		t.Errorf("%v\n%s", err, said)
	}
	if _, err := f.gadgets().Get(t.Context(), "mine", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	crd := dynamic.NewForConfigOrDie(f.env.Config).Resource(definitionResource)
	if err := crd.Delete(t.Context(), "gadgets."+f.group, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// If the record of a deployment was deleted, or not written yet, its objects are found by their label.
func TestUndeployWithoutRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	create(t, f.gadgets(), f.gadget("live"))
	if err := f.client.CoreV1().ConfigMaps(f.namespace()).Delete(t.Context(), f.name+"-deployment", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	removal, said, err := f.undeploy(t, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{"Gadget " + f.env.Namespace + "/live", "CustomResourceDefinition gadgets." + f.group, "ClusterRole " + f.name, "Namespace " + f.namespace()} {
		if !slices.Contains(removal.Removed, want) {
			t.Errorf("%s is not in %q", want, removal.Removed)
		}
	}
}
