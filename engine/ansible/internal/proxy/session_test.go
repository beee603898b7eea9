package proxy_test

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/proxy"
	"github.com/operon-framework/operon/local/localtest"
)

// recorder sends requests of a run through a proxy.
type recorder struct {
	*testing.T
	*localtest.Env
	proxy   *proxy.Proxy
	session *proxy.Session
	client  *http.Client
	host    string
	direct  kubernetes.Interface
}

func newRecorder(t *testing.T, session *proxy.Session) *recorder {
	t.Helper()
	return newRecorderAs(t, session, "")
}

// newRecorderAs returns a recorder whose proxy has the permissions of a user, or those of an administrator.
func newRecorderAs(t *testing.T, session *proxy.Session, user string) *recorder {
	t.Helper()
	r := &recorder{T: t, Env: localtest.Shared(t), proxy: proxy.New(true), session: session}
	connection := rest.CopyConfig(r.Config)
	connection.Impersonate.UserName = user
	manager, err := ctrl.NewManager(connection, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	r.must(err)
	r.must(r.proxy.Connect(manager))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.proxy.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	r.direct, err = kubernetes.NewForConfig(r.Config)
	r.must(err)
	// No package installs the owner's kind. If it existed, garbage collection would delete what has an owner that does not.
	kind := schema.GroupVersionKind{Group: "absent.operon.dev", Version: "v1", Kind: "Absent"}
	session.Owner = proxy.Owner{Kind: kind, Namespace: r.Namespace, Name: "one", UID: "1"}
	r.proxy.Open(session)
	content, err := session.Kubeconfig(r.Namespace)
	r.must(err)
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	r.must(err)
	r.client, err = rest.HTTPClientFor(config)
	r.must(err)
	r.host = config.Host
	return r
}

func (r *recorder) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// send sends a request whose path is below that of the namespace, if it does not begin with a slash.
func (r *recorder) send(method, path, body string, accept ...string) string {
	r.Helper()
	if !strings.HasPrefix(path, "/") {
		path = "/api/v1/namespaces/" + r.Namespace + "/" + path
	}
	request, err := http.NewRequestWithContext(r.Context(), method, r.host+path, strings.NewReader(body))
	r.must(err)
	request.Header.Set("Accept", cmp.Or(strings.Join(accept, ","), "application/json"))
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := r.client.Do(request)
	r.must(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	r.must(err)
	if response.StatusCode >= 300 && response.StatusCode != http.StatusNotFound {
		r.Fatalf("%s %s: %s\n%s", method, path, response.Status, answer)
	}
	return string(answer)
}

// add creates a ConfigMap as another client.
func (r *recorder) add(name string, finalizers ...string) {
	r.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": "test"}, Finalizers: finalizers}}
	_, err := r.direct.CoreV1().ConfigMaps(r.Namespace).Create(r.Context(), made, metav1.CreateOptions{})
	r.must(err)
}

const table = "application/json;as=Table;v=v1;g=meta.k8s.io"

// What is recorded is what is stored, whatever the form of the request and of its response.
func TestRecords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		send func(r *recorder)
		want string // NAMESPACE stands for the test's
	}{
		"get":             {func(r *recorder) { r.send("GET", "configmaps/a", "") }, "ConfigMap NAMESPACE/a"},
		"get a table":     {func(r *recorder) { r.send("GET", "configmaps/a", "", table) }, "ConfigMap NAMESPACE/a"},
		"get nothing":     {func(r *recorder) { r.send("GET", "configmaps/none", "") }, "ConfigMap NAMESPACE/none"},
		"get a namespace": {func(r *recorder) { r.send("GET", "/api/v1/namespaces/"+r.Namespace, "") }, "Namespace NAMESPACE"},
		"list":            {func(r *recorder) { r.send("GET", "configmaps?labelSelector=of%3Dtest", "") }, `list of ConfigMap in "NAMESPACE" with of=test`},
		"list a table": {func(r *recorder) { r.send("GET", "configmaps?labelSelector=of%3Dtest&limit=500", "", table) },
			`list of ConfigMap in "NAMESPACE" with of=test`},
		"list by name": {func(r *recorder) { r.send("GET", "configmaps?fieldSelector=metadata.name%3Da", "") }, "ConfigMap NAMESPACE/a"},
		"list in parts": {func(r *recorder) {
			answer := r.send("GET", "configmaps?labelSelector=of%3Dtest&limit=1", "")
			_, rest, _ := strings.Cut(answer, `"continue":"`)
			next, _, _ := strings.Cut(rest, `"`)
			if next == "" {
				r.Fatalf("the list has one part: %s", answer)
			}
			r.send("GET", "configmaps?labelSelector=of%3Dtest&limit=1&continue="+next, "")
		}, `list of ConfigMap in "NAMESPACE" with of=test`},
		"create":                     {func(r *recorder) { r.send("POST", "configmaps", `{"metadata":{"name":"new"}}`) }, "ConfigMap NAMESPACE/new"},
		"create in a dry run":        {func(r *recorder) { r.send("POST", "configmaps?dryRun=All", `{"metadata":{"name":"new"}}`) }, "ConfigMap NAMESPACE/new"},
		"generate in a dry run":      {func(r *recorder) { r.send("POST", "configmaps?dryRun=All", `{"metadata":{"generateName":"new-"}}`) }, ""},
		"patch":                      {func(r *recorder) { r.send("PATCH", "configmaps/a", `{"data":{"x":"1"}}`) }, "ConfigMap NAMESPACE/a"},
		"patch in a dry run":         {func(r *recorder) { r.send("PATCH", "configmaps/a?dryRun=All", `{"data":{"x":"1"}}`) }, "ConfigMap NAMESPACE/a"},
		"delete":                     {func(r *recorder) { r.send("DELETE", "configmaps/a", "") }, "ConfigMap NAMESPACE/a"},
		"delete in a dry run":        {func(r *recorder) { r.send("DELETE", "configmaps/a?dryRun=All", "") }, "ConfigMap NAMESPACE/a"},
		"delete, dry by the options": {func(r *recorder) { r.send("DELETE", "configmaps/a", `{"dryRun":["All"]}`) }, "ConfigMap NAMESPACE/a"},
		"delete with a finalizer":    {func(r *recorder) { r.send("DELETE", "configmaps/held", "") }, "ConfigMap NAMESPACE/held"},
		"delete all":                 {func(r *recorder) { r.send("DELETE", "configmaps?labelSelector=of%3Dnone", "") }, `list of ConfigMap in "NAMESPACE" with of=none`},
		"a subresource":              {func(r *recorder) { r.send("POST", "serviceaccounts/held/token", `{"spec":{}}`) }, "ServiceAccount NAMESPACE/held"},
		"a review": {func(r *recorder) {
			r.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorder(t, &proxy.Session{})
			r.add("a")
			r.add("b")
			r.add("held", "test.operon.dev/held")
			_, err := r.direct.CoreV1().ServiceAccounts(r.Namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "held"}}, metav1.CreateOptions{})
			r.must(err)
			t.Cleanup(func() { r.release("held") })
			r.session.Begin(true)
			test.send(r)
			objects, open, err := r.session.Result(t.Context())
			if err != nil || open != "" {
				t.Errorf("the run is open because of %q: %v", open, err)
			}
			if got := strings.ReplaceAll(places(objects), r.Namespace, "NAMESPACE"); got != test.want {
				t.Errorf("recorded: %s, want %s", got, test.want)
			}
			for _, o := range objects {
				if live, err := r.proxy.Live(t.Context(), o); err != nil || o.Version != live {
					t.Errorf("%s has the version %q, want %q (%v)", proxy.Place(o), o.Version, live, err)
				}
			}
		})
	}
}

// What the operator may change but not read makes the record incomplete, and hides nothing else.
func TestRecordsWithoutPermission(t *testing.T) {
	t.Parallel()
	const user = "blind"
	r := newRecorderAs(t, &proxy.Session{}, user)
	r.add("a")
	roles := r.direct.RbacV1()
	_, err := roles.Roles(r.Namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"delete"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	}}, metav1.CreateOptions{})
	r.must(err)
	_, err = roles.RoleBindings(r.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	r.must(err)
	localtest.Eventually(t, "the user has the permissions", func(ctx context.Context) error {
		_, err := r.proxy.Live(ctx, engine.RunObject{APIVersion: "v1", Kind: "Secret", Namespace: r.Namespace, Name: "a"})
		return err
	})
	r.session.Begin(true)
	r.send("DELETE", "configmaps/a", "")
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		r.send("GET", "secrets/"+name, "")
	}
	for range 20 { // the order in which objects are read is random
		objects, open, err := r.session.Result(t.Context())
		if err != nil || len(objects) != len(names) || !strings.Contains(open, "ConfigMap "+r.Namespace+"/a cannot be read") {
			t.Fatalf("recorded: %s, open because of %q, %v; want %d Secrets", places(objects), open, err, len(names))
		}
	}
}

// release removes the finalizers of a ConfigMap.
func (r *recorder) release(name string) {
	_, err := r.direct.CoreV1().ConfigMaps(r.Namespace).Patch(context.WithoutCancel(r.Context()), name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		r.Error(err)
	}
}

func places(objects []engine.RunObject) string {
	var all []string
	for _, o := range objects {
		all = append(all, proxy.Place(o))
	}
	return strings.Join(slices.Compact(all), ", ")
}

// A run that read an object in two states depends on both, so that its record is equal to no state. It is equal to the last one if
// the same task read both, as tasks do that wait, or if the run changed the object in between.
func TestRecordsTornReads(t *testing.T) {
	t.Parallel()
	const change = `{"data":{"x":"1"}}`
	byOther := func(r *recorder) {
		_, err := r.direct.CoreV1().ConfigMaps(r.Namespace).Patch(r.Context(), "a", "application/merge-patch+json", []byte(change), metav1.PatchOptions{})
		r.must(err)
	}
	for name, test := range map[string]struct {
		between func(r *recorder)
		torn    bool
	}{
		"not changed":             {func(r *recorder) { r.session.Begin(true) }, false},
		"changed by another":      {func(r *recorder) { byOther(r); r.session.Begin(true) }, true},
		"changed during one task": {byOther, false},
		"changed by the run": {func(r *recorder) {
			r.session.Begin(false)
			r.send("PATCH", "configmaps/a", change)
			r.session.Begin(true)
		}, false},
		"changed and read to edit": {func(r *recorder) { byOther(r); r.session.Begin(false) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorder(t, &proxy.Session{})
			r.add("a")
			r.session.Begin(true)
			for _, path := range []string{"configmaps/a", "configmaps?labelSelector=of%3Dtest"} {
				r.send("GET", path, "")
			}
			test.between(r)
			for _, path := range []string{"configmaps/a", "configmaps?labelSelector=of%3Dtest"} {
				r.send("GET", path, "")
			}
			objects, _, err := r.session.Result(t.Context())
			r.must(err)
			for _, o := range objects {
				live, err := r.proxy.Live(t.Context(), o)
				r.must(err)
				if (o.Version != live) != test.torn && (o.Name != "" || name != "changed by the run") { // of a list it changed an item
					t.Errorf("%s: the version is %q, the live one %q", proxy.Place(o), o.Version, live)
				}
			}
		})
	}
}

// The status of the operator's own kinds does not count as read: its runs write it.
func TestRecordsManagedKinds(t *testing.T) {
	t.Parallel()
	r := newRecorder(t, &proxy.Session{Managed: []schema.GroupKind{{Kind: "ConfigMap"}}})
	r.add("a")
	r.session.Begin(true)
	for _, path := range []string{"configmaps/a", "configmaps?labelSelector=of%3Dtest", "secrets/a"} {
		r.send("GET", path, "")
	}
	objects, open, err := r.session.Result(t.Context())
	r.must(err)
	for _, o := range objects {
		if o.WithStatus != (o.Kind == "Secret") {
			t.Errorf("%s: with status is %t", proxy.Place(o), o.WithStatus)
		}
	}
	if want := "the status of ConfigMap " + r.Namespace + "/a, which this operator writes"; open != want {
		t.Errorf("the run is open because of %q, want %q", open, want)
	}
}

// A run that never began has used nothing. Its earlier children are kept.
func TestPruneOfARunThatNeverBegan(t *testing.T) {
	t.Parallel()
	before := []engine.RunObject{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "b", Owned: true}, {APIVersion: "v1", Kind: "Secret", Namespace: "a", Name: "read"}}
	kept, err := (&proxy.Session{}).Prune(t.Context(), before, nil, false)
	if err != nil || len(kept) != 1 || kept[0].Name != "b" {
		t.Errorf("kept %+v, %v", kept, err)
	}
}
