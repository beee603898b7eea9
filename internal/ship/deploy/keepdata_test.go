package deploy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// With KeepData, definitions and custom resources are kept, and the next deployment adopts them.
func TestKeepData(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	create(t, f.gadgets(), f.gadget("kept", f.group+"/minded"))
	beside, err := f.gadgetsIn(f.namespace()).Create(t.Context(), f.gadget("beside"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own := f.secret(t, f.name+"-webhook-certificates", nil)
	children := []string{
		f.secret(t, "password", func(secret *corev1.Secret) {
			secret.Labels["operon.dev/owner"] = "0d1f3b6c-5c9f-4a3e-9d0e-6a8f3a1c7b55"
		}),
		f.secret(t, "key", func(secret *corev1.Secret) {
			secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(beside, beside.GroupVersionKind())}
		}),
		f.secret(t, "of-another-namespace", nil), // cannot have an owner reference
	}
	t.Cleanup(func() { f.removeNamespace(t) })
	removal, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.KeepData = true })
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if missing := lacks(said, "kept 2 custom resources", f.group+"/minded is on 1 of them: if you delete them, they remain"); missing != nil || len(removal.Kept) == 0 {
		t.Error(missing, removal.Kept)
	}
	if _, err := f.gadgets().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	secrets := f.client.CoreV1().Secrets(f.namespace())
	for _, child := range children {
		if _, err := secrets.Get(t.Context(), child, metav1.GetOptions{}); err != nil {
			t.Errorf("a Secret that belongs to a custom resource: %v", err)
		}
	}
	if _, err := secrets.Get(t.Context(), own, metav1.GetOptions{}); gone(err) != nil {
		t.Errorf("a Secret that the operator made for itself: %v", gone(err))
	}
	if _, err := f.client.RbacV1().ClusterRoles().Get(t.Context(), f.name, metav1.GetOptions{}); gone(err) != nil {
		t.Errorf("the ClusterRole: %v", gone(err))
	}
	if again := f.mustDeploy(t, nil); slices.Contains(again.Created, "CustomResourceDefinition gadgets."+f.group) {
		t.Errorf("created %q", again.Created)
	}
}

// secret creates a Secret of the operator in its namespace, with what set adds, and returns its name.
func (f *fixture) secret(t *testing.T, name string, set func(*corev1.Secret)) string {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": f.name}}}
	if set != nil {
		set(secret)
	}
	if _, err := f.client.CoreV1().Secrets(f.namespace()).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// When asked, a user can delete or keep the data. The question is about what would be deleted, and the time for the answer is not limited.
func TestDeletionOfDataIsConfirmed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.env.InstallCRDs(t, f.addWidgets(t))
	t.Cleanup(func() { f.removeWidgets(t) })
	f.mustDeploy(t, nil)
	create(t, f.gadgets(), f.gadget("precious"))
	create(t, f.widgets(), f.widget("of-another-client"))
	var asked deploy.DataDeletion
	undeploy := func(answer bool, err error) error {
		_, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) {
			o.KeepData, o.Confirm = true, func(of deploy.DataDeletion) (bool, error) { asked = of; return answer, err }
		})
		t.Log(said)
		return err
	}
	if err := undeploy(false, errors.New("no answer")); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("error %v", err)
	}
	want := deploy.DataDeletion{Operator: f.name, CRDs: []string{"gadgets." + f.group}, Objects: 1}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked about %+v, want %+v", asked, want)
	}
	if _, err := f.gadgets().Get(t.Context(), "precious", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	var err error
	// The sleep is the user, who takes as long to answer as the command may take. The first time is enough if the machine is not busy.
	for patience := 4 * time.Second; patience < timeout; patience *= 4 {
		_, _, err = f.undeploy(t, func(o *deploy.UndeployOptions) {
			o.KeepData, o.Timeout, o.Confirm = true, patience, func(deploy.DataDeletion) (bool, error) { time.Sleep(patience); return true, nil }
		})
		if err == nil {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
	if _, err := f.gadgets().Get(t.Context(), "precious", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the confirmed data: %v", err)
	}
}

// A first deployment that fails deletes the objects that it created, but not existing ones: kept data of an earlier
// deployment, also of a CRD that the project no longer has.
func TestTakeBackKeepsData(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	widgets := f.addWidgets(t)
	f.mustDeploy(t, nil)
	create(t, f.gadgets(), f.gadget("kept"))
	create(t, f.widgets(), f.widget("kept"))
	if _, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.KeepData = true }); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if err := os.Remove(widgets); err != nil {
		t.Fatal(err)
	}
	f.refuseDeployments(t)
	_, said, err := f.deploy(t, nil)
	if missing := refuses(err, "the objects created so far were removed"); missing != nil {
		t.Fatal(missing, said)
	}
	f.noNamespace(t)
	if kept, err := f.gadgets().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil || kept.GetDeletionTimestamp() != nil {
		t.Errorf("the data: %v", err)
	}
	if kept, err := f.widgets().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil || kept.GetDeletionTimestamp() != nil {
		t.Errorf("the data of a CRD that the project no longer has: %v", err)
	}
}

// addWidgets adds a second CRD to the project, and returns its file.
func (f *fixture) addWidgets(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(f.dir, "config", "crd")
	text := testaid.Read(t, filepath.Join(folder, "gadgets.yaml"))
	file := filepath.Join(folder, "widgets.yaml")
	testaid.Write(t, file, strings.NewReplacer("name: gadgets", "name: widgets", "plural: gadgets", "plural: widgets", "kind: Gadget", "kind: Widget").Replace(text))
	return file
}

// removeWidgets removes the second CRD.
func (f *fixture) removeWidgets(t *testing.T) {
	err := dynamic.NewForConfigOrDie(f.env.Config).Resource(definitionResource).Delete(context.WithoutCancel(t.Context()), "widgets."+f.group, metav1.DeleteOptions{})
	if err != nil {
		t.Error(err)
	}
}

func (f *fixture) widgets() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(f.env.Config).Resource(schema.GroupVersionResource{Group: f.group, Version: "v1", Resource: "widgets"}).Namespace(f.env.Namespace)
}

func (f *fixture) widget(name string) *unstructured.Unstructured {
	made := f.gadget(name)
	made.SetKind("Widget")
	return made
}

// stop removes the pods of the operator.
func (f *fixture) stop(t *testing.T) {
	t.Helper()
	if err := f.client.AppsV1().Deployments(f.namespace()).Delete(t.Context(), f.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// An operator can be removed without its data although it does not run, and although it does not clear the finalizer of a custom resource that is
// being deleted.
func TestKeepDataInDeletion(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]string{"stopped": "the operator no longer exists", "running": "the operator does not clear their finalizers"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.mustDeploy(t, nil)
			create(t, f.gadgets(), f.gadget("leaving", f.group+"/minded"))
			if err := f.gadgets().Delete(t.Context(), "leaving", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if name == "stopped" {
				f.stop(t)
				foretold, _, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.KeepData, o.DryRun = true, true })
				if err != nil || slices.Contains(foretold.Removed, "Gadget "+f.env.Namespace+"/leaving") {
					t.Errorf("a dry run: %+v, %v", foretold, err)
				}
			}
			var said string
			var err error
			for patience := 10 * time.Second; patience < timeout; patience *= 2 { // the first is enough if the machine is not busy
				var tells string
				_, tells, err = f.undeploy(t, func(o *deploy.UndeployOptions) { o.KeepData, o.Timeout = true, patience })
				if said += tells; err == nil { // the last attempt may find no operator any more
					break
				}
			}
			if missing := errors.Join(err, lacks(said, "the deletion of 1 custom resource is not completed, because "+why, "leaving waits for its finalizer", "kept 1 custom resource")); missing != nil {
				t.Error(missing)
			}
			f.noNamespace(t)
			if _, err := f.gadgets().Get(t.Context(), "leaving", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// The data of an operator that converts objects can be kept while it does not run. A version that serves no webhooks is not deployed: API servers
// would still call it to convert objects.
func TestConversionWithoutTheOperator(t *testing.T) {
	t.Parallel()
	f := fixtureIn(t, localtest.New(t, local.Options{})) // on a shared cluster, other tests could not list everything either
	t.Cleanup(func() { f.removeNamespace(t) })           // which may have gadgets, and is kept
	f.mustDeploy(t, nil)
	create(t, f.gadgets(), f.gadget("old")) // stored as v1
	f.addVersion(t)
	f.mustDeploy(t, nil)
	f.convertedIn(t, f.namespace())
	t.Cleanup(func() { f.convertsBy(t, map[string]any{"strategy": "None", "webhook": nil}) })
	_, _, err := f.deploy(t, nil)
	if missing := refuses(err, "nothing was deployed, because this version of the operator serves no webhooks", "CustomResourceDefinition gadgets."+f.group, "--unsafe-crds"); missing != nil {
		t.Error(missing)
	}
	asked := false
	_, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) {
		o.KeepData, o.Confirm = true, func(deploy.DataDeletion) (bool, error) { asked = true; return false, nil }
	})
	if missing := errors.Join(err, lacks(said, "kept custom resources that cannot be listed", "kept Namespace "+f.namespace()+": it holds what `operon deploy` did not make: gadgets."+f.group+", which cannot be listed", "conversion webhook for", "versions of gadgets."+f.group+" are converted by the operator")); missing != nil {
		t.Error(missing)
	}
	if asked {
		t.Error("it was asked whether to delete what cannot be listed")
	}
	f.mustDeploy(t, func(o *deploy.Options) { o.UnsafeCRDs = true })
	stored := dynamic.NewForConfigOrDie(f.env.Config).Resource(schema.GroupVersionResource{Group: f.group, Version: "v2", Resource: "gadgets"}).Namespace(f.env.Namespace)
	// API servers learn of another conversion with a delay.
	localtest.Eventually(t, "both versions to be served", func(ctx context.Context) error {
		_, asCreated := f.gadgets().Get(ctx, "old", metav1.GetOptions{})
		_, asStored := stored.Get(ctx, "old", metav1.GetOptions{})
		return errors.Join(asCreated, asStored)
	})
}

// A version that serves no webhooks is deployed although a conversion is registered, if API servers have nothing to convert because the CRD has a
// single version, or if an instance of the operator in another namespace converts the objects. That conversion stays, also with UnsafeCRDs.
func TestConversionsThatPreventNoDeployment(t *testing.T) {
	t.Parallel()
	f := newFixture(t) // without custom resources: API servers do not call the Services, which do not exist
	f.mustDeploy(t, nil)
	t.Cleanup(func() { f.convertsBy(t, map[string]any{"strategy": "None", "webhook": nil}) })
	f.convertedIn(t, f.namespace())
	f.mustDeploy(t, nil)
	f.convertedIn(t, "elsewhere")
	f.addVersion(t)
	for _, unchecked := range []bool{false, true} {
		f.mustDeploy(t, func(o *deploy.Options) { o.UnsafeCRDs = unchecked })
		definition, err := dynamic.NewForConfigOrDie(f.env.Config).Resource(definitionResource).Get(t.Context(), "gadgets."+f.group, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		namespace, _, err := unstructured.NestedString(definition.Object, "spec", "conversion", "webhook", "clientConfig", "service", "namespace")
		if namespace != "elsewhere" || err != nil {
			t.Errorf("unchecked: %t: objects are converted in the namespace %q, want elsewhere: %v", unchecked, namespace, err)
		}
	}
}

// addVersion adds a version to the project's CRD, in which objects are stored from now on.
func (f *fixture) addVersion(t *testing.T) {
	t.Helper()
	file := filepath.Join(f.dir, "config", "crd", "gadgets.yaml")
	text := testaid.Read(t, file)
	version := text[strings.Index(text, "  - name: v1\n"):]
	testaid.Write(t, file, strings.Replace(text, "storage: true", "storage: false", 1)+strings.Replace(version, "name: v1", "name: v2", 1))
}

// convertedIn makes API servers call a Service in a namespace to convert gadgets.
func (f *fixture) convertedIn(t *testing.T, namespace string) {
	t.Helper()
	f.convertsBy(t, map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": map[string]any{"namespace": namespace, "name": f.name + "-webhook"}},
	}})
}

// convertsBy sets the conversion of the CRD, as the operator does.
func (f *fixture) convertsBy(t *testing.T, conversion map[string]any) {
	t.Helper()
	body, err := (&unstructured.Unstructured{Object: map[string]any{"kind": "CustomResourceDefinition", "spec": map[string]any{"conversion": conversion}}}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	definitions := dynamic.NewForConfigOrDie(f.env.Config).Resource(definitionResource)
	if _, err := definitions.Patch(context.WithoutCancel(t.Context()), "gadgets."+f.group, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}
