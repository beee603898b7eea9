package up_test

import (
	"context"
	"fmt"
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
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

func TestDownRemovesAllThatUpMade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.edit(t, "config/samples/gadget.yaml", "apiVersion: ", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n  namespace: "+f.env.Namespace+"\n---\napiVersion: ")
	if got := f.once(t, nil); got.err != nil {
		t.Fatal(got.err)
	}
	out, err := f.down(t.Context(), patience)
	if err != nil {
		t.Fatal(err)
	}
	order := []string{"Gadget " + f.env.Namespace + "/one", "ConfigMap " + f.env.Namespace + "/other", "CustomResourceDefinition gadgets." + f.group,
		"ClusterRole " + f.name + "-manager-role", "ServiceAccount " + f.name + "-system/" + f.name, "Namespace " + f.name + "-system"}
	for _, name := range order {
		if err := lacks(out, "removed "+name); err != nil {
			t.Error(err)
		}
	}
	if strings.Index(out, order[2]) < strings.Index(out, order[0]) || strings.Index(out, order[5]) < strings.Index(out, order[4]) {
		t.Errorf("in this order:\n%s", out)
	}
	if _, err := f.client(t).CoreV1().ConfigMaps(f.env.Namespace).Get(t.Context(), "one", getOptions); !apierrors.IsNotFound(err) {
		t.Errorf("the child: %v", err)
	}
	if out, err := f.down(t.Context(), patience); err != nil || !strings.Contains(out, "nothing to remove") {
		t.Errorf("a second time: %v\n%s", err, out)
	}
}

// What makes API servers call an operator does not remain: APIServices go when the operator is stopped, because nothing in the cluster could be
// deleted meanwhile, and webhooks with its other objects. Those of others stay.
func TestRegistrationsAreRemoved(t *testing.T) {
	t.Parallel()
	f := newFixtureIn(t, localtest.New(t, local.Options{})) // an APIService that nobody answers for would disturb other tests
	client, err := dynamic.NewForConfig(f.env.Config)
	if err != nil {
		t.Fatal(err)
	}
	apis := client.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	hooks := client.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"})
	create := func(in dynamic.ResourceInterface, format string, values ...any) {
		t.Helper()
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(fmt.Appendf(nil, format, values...), &object.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const api = "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.%[1]s.example.com, labels: {app.kubernetes.io/managed-by: %[2]s}}," +
		" spec: {group: %[1]s.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true, service: {name: a, namespace: %[3]s}}}"
	const hook = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: %s, labels: {app.kubernetes.io/managed-by: %s}}," +
		" webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: %s}}}]}"
	create(apis, api, "own", f.name, f.name+"-system")
	create(apis, api, "foreign", f.name, "elsewhere")
	create(hooks, hook, "own", f.name, f.name+"-system")
	create(hooks, hook, "foreign", f.name, "elsewhere")
	names := func(in dynamic.ResourceInterface) string {
		t.Helper()
		list, err := in.List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=" + f.name})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, one := range list.Items {
			all = append(all, one.GetName())
		}
		return strings.Join(all, " ")
	}
	if got := f.once(t, nil); got.err != nil {
		t.Fatal(got.err)
	}
	if got := names(apis) + ", " + names(hooks); got != "v1.foreign.example.com, foreign own" {
		t.Errorf("after the operator, there are %s", got)
	}
	if err := apis.Delete(t.Context(), "v1.foreign.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	out, err := f.down(t.Context(), patience)
	if err != nil || !strings.Contains(out, "removed ValidatingWebhookConfiguration own") {
		t.Errorf("%v\n%s", err, out)
	}
	if got := names(hooks); got != "foreign" {
		t.Errorf("after down, there are %s", got)
	}
}

func TestDownRunsTheOperatorForFinalizers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.edit(t, "config/samples/gadget.yaml", "size: 3", "size: 3\n  finalize: true")
	if got := f.once(t, nil); got.err != nil {
		t.Fatal(got.err)
	}
	out, err := f.down(t.Context(), patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := lacks(out, "running the operator for the finalizers of 1 object", "removed Gadget"); err != nil {
		t.Error(err)
	}
	f.noOperator(t)
}

func TestDownSaysWhichObjectWaitsForWhichFinalizer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.edit(t, "main.go", `object{"finalizers": []string{}}`, `object{}`) // the operator clears no finalizers
	if got := f.once(t, nil); got.err != nil {
		t.Fatal(got.err)
	}
	f.finalizers(t, `["example.com/forgotten"]`)
	defer f.finalizers(t, `[]`)
	for limit := 6 * time.Second; ; limit *= 4 { // the operator runs in the meantime
		_, err := f.down(t.Context(), limit)
		if err == nil {
			t.Fatal("no error")
		}
		err = lacks(err.Error(), fmt.Sprintf("not done after %s: 1 object left", limit), "Gadget "+f.env.Namespace+"/one waits for its finalizer", "example.com/forgotten")
		if err == nil {
			return
		}
		if limit > patience {
			t.Fatal(err)
		}
	}
}

func (f *fixture) finalizers(t *testing.T, list string) {
	t.Helper()
	patch := []byte(`{"metadata":{"finalizers":` + list + `}}`)
	if _, err := f.gadgets(t).Patch(context.WithoutCancel(t.Context()), "one", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestDownLeavesWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	namespaces := f.client(t).CoreV1().Namespaces()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-system"}}
	if _, err := namespaces.Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := namespaces.Delete(context.WithoutCancel(t.Context()), namespace.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	got := f.once(t, nil)
	if err := lacks(got.stderr, "Namespace "+namespace.Name+" existed in the cluster before"); err != nil || got.err != nil {
		t.Errorf("%v, %v", got.err, err)
	}
	if _, err := f.down(t.Context(), patience); err != nil {
		t.Fatal(err)
	}
	left, err := namespaces.Get(t.Context(), namespace.Name, getOptions)
	if err != nil || left.DeletionTimestamp != nil {
		t.Errorf("%v, deleted at %v", err, left.DeletionTimestamp)
	}
}

func TestUpRefusesToTakeOverADeployedOperator(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.once(t, nil); got.err != nil {
		t.Fatal(got.err)
	}
	accounts := f.client(t).CoreV1().ServiceAccounts(f.name + "-system")
	label := func(value string) {
		patch := []byte(`{"metadata":{"labels":{"operon.dev/up":` + value + `}}}`)
		if _, err := accounts.Patch(context.WithoutCancel(t.Context()), f.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	label("null")
	got := f.once(t, nil)
	label(`"` + f.name + `"`)
	if got.err == nil || lacks(got.err.Error(), "the ServiceAccount "+f.name+" already exists in the cluster and was not created by `operon up`") != nil {
		t.Errorf("%v", got.err)
	}
}
