package up_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/up"
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

// What makes API servers call an operator does not remain: APIServices, and webhooks that lead to this machine, go when the operator is stopped,
// because nothing in the cluster could be deleted or written meanwhile, and other webhooks with its other objects. Those of others stay.
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
	const rules = "[{apiGroups: ['*'], apiVersions: ['*'], operations: [DELETE], resources: [gadgets]}]" // nobody answers when they are deleted
	const hook = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: %s, labels: {app.kubernetes.io/managed-by: %s}}," +
		" webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: %s, rules: %s}]}"
	create(apis, api, "own", f.name, f.name+"-system")
	create(apis, api, "foreign", f.name, "elsewhere")
	service := func(namespace string) string { return "{service: {name: a, namespace: " + namespace + "}}" }
	create(hooks, hook, "own", f.name, service(f.name+"-system"), rules)
	create(hooks, hook, "foreign", f.name, service("elsewhere"), "[]")
	create(hooks, hook, "killed", f.name, "{url: 'https://127.0.0.1:1/gadgets'}", rules)
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

// Down runs the main package that Run was told to run.
func TestDownOfSeveralMainPackages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	content, err := os.ReadFile(filepath.Join(f.dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "other"} {
		dir := filepath.Join(f.dir, "cmd", name)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "main.go"), content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(f.dir, "main.go")); err != nil {
		t.Fatal(err)
	}
	f.edit(t, "config/samples/gadget.yaml", "size: 3", "size: 3\n  finalize: true")
	if got := f.once(t, func(o *up.Options) { o.Main = "cmd/other" }); got.err != nil {
		t.Fatal(got.err)
	}
	if out, err := f.down(t.Context(), patience); err != nil || !strings.Contains(out, "running the operator for the finalizers of 1 object") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Down finds the cluster of the last Run by itself, also if another context is the current one now, and not another cluster.
func TestDownFindsTheClusterOfTheLastRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	raw, err := clientcmd.LoadFromFile(f.env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := raw.CurrentContext
	raw.Clusters["nowhere"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	raw.Contexts["nowhere"] = &clientcmdapi.Context{Cluster: "nowhere"}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	write := func() {
		t.Helper()
		if err := clientcmd.WriteToFile(*raw, file); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if got := f.once(t, func(o *up.Options) { o.Where = up.Where{Kubeconfig: file} }); got.err != nil {
		t.Fatal(got.err)
	}
	down := func() (string, error) {
		var out bytes.Buffer
		err := up.Down(t.Context(), up.DownOptions{Dir: f.dir, Timeout: patience, Out: &out})
		return out.String(), err
	}
	server := raw.Clusters[raw.Contexts[current].Cluster].Server
	raw.Clusters[raw.Contexts[current].Cluster].Server = strings.Replace(server, "127.0.0.1", "localhost", 1)
	write()
	if _, err := down(); err == nil || lacks(err.Error(), `the context "`+current+`" leads to https://localhost`, "ran last at "+server) != nil {
		t.Errorf("another server: error %v", err)
	}
	raw.Clusters[raw.Contexts[current].Cluster].Server, raw.CurrentContext = server, "nowhere"
	write()
	if out, err := down(); err != nil || !strings.Contains(out, "removed Gadget") {
		t.Errorf("another current context: %v\n%s", err, out)
	}
}

// Down in another cluster than that of the last Run does not forget that one, and a default does not replace it.
func TestDownElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.once(t, nil); got.err != nil {
		t.Fatal(got.err)
	}
	raw, err := clientcmd.LoadFromFile(f.env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cluster := raw.Clusters[raw.Contexts[raw.CurrentContext].Cluster]
	cluster.Server = strings.Replace(cluster.Server, "127.0.0.1", "localhost", 1)
	other := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*raw, other); err != nil {
		t.Fatal(err)
	}
	down := func(where up.Where, want string) {
		t.Helper()
		var out bytes.Buffer
		err := up.Down(t.Context(), up.DownOptions{Dir: f.dir, Where: where, Default: "no-such-cluster", Timeout: patience, Out: &out})
		if err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v\n%s", err, &out)
		}
	}
	down(up.Where{Kubeconfig: other}, "removed Gadget")
	down(up.Where{}, "has nothing that `operon up` created")
	down(up.Where{}, `local cluster "no-such-cluster"`) // the state was removed
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

// shortNames returns the short names of the kind in the cluster.
func (f *fixture) shortNames(t *testing.T) []string {
	t.Helper()
	client, err := dynamic.NewForConfig(f.env.Config)
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	definition, err := definitions.Get(t.Context(), "gadgets."+f.group, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	names, _, err := unstructured.NestedStringSlice(definition.Object, "spec", "names", "shortNames")
	if err != nil {
		t.Fatal(err)
	}
	return names
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
	f.edit(t, "config/crd/gadgets.yaml", "kind: Gadget\n", "kind: Gadget\n    shortNames: [gdg]\n")
	got := f.once(t, nil)
	label(`"` + f.name + `"`)
	if names := f.shortNames(t); len(names) > 0 {
		t.Errorf("the CustomResourceDefinition was changed: its short names are %v", names)
	}
	if got.err == nil || lacks(got.err.Error(), "the ServiceAccount "+f.name+" already exists in the cluster and was not created by `operon up`") != nil {
		t.Errorf("%v", got.err)
	}
}
