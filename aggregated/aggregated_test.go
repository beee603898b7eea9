package aggregated_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"
)

// What API servers are asked of kinds that the operator serves, it answers.
func TestServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("only verbs that there are roles for are discovered", w.verbs)
	t.Run("objects are made, read, changed and deleted", w.life)
	t.Run("server-side apply makes and changes", w.apply)
	t.Run("what a client knows is old", w.conflict)
	t.Run("a dry run changes nothing", w.dryRun)
	t.Run("objects are selected", w.selection)
	t.Run("clients hear of changes", w.watch)
	t.Run("columns are shown", w.table)
	t.Run("types are explained", w.explained)
	t.Run("callers are known, and have rights", w.callers)
	t.Run("nobody gets in past the API server", w.forged)
	t.Run("an object of a wrong name is refused", w.names)
	t.Run("an error of a role is told", w.failure)
	t.Run("a subresource returns content", w.content)
	t.Run("a kind is served in two versions", w.versions)
	t.Run("all objects in a namespace are deleted", w.collection)
}

func (w *world) verbs(t *testing.T) {
	found, err := discovery.NewDiscoveryClientForConfigOrDie(w.Config).ServerResourcesForGroupVersion(version.String())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, resource := range found.APIResources {
		slices.Sort(resource.Verbs)
		got[resource.Name] = fmt.Sprintf("%s %t %s", strings.Join(resource.Verbs, " "), resource.Namespaced, strings.Join(resource.ShortNames, " "))
	}
	want := map[string]string{
		"notes":         "create delete deletecollection get list patch update watch true nt",
		"notes/picture": "get true ",
		"greetings":     "create false ",
		"days":          "get list false ",
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %q, want %q", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("discovered are %v", got)
	}
}

func (w *world) life(t *testing.T) {
	n := w.note("life", "one")
	if err := w.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if n.UID == "" || n.CreationTimestamp.IsZero() {
		t.Errorf("made was %+v", n.ObjectMeta)
	}
	if err := w.Create(t.Context(), w.note("life", "again")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("made a second time: %v", err)
	}
	n.Text = "two"
	if err := w.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	read := &Note{}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(n), read); err != nil || read.Text != "two" || read.UID != n.UID {
		t.Errorf("read %+v, %v", read, err)
	}
	if err := w.Delete(t.Context(), n, client.Preconditions{UID: new(w.note("x", "").UID)}); !apierrors.IsConflict(err) {
		t.Errorf("one of another UID was deleted: %v", err)
	}
	if err := w.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(n), read); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `notes.`+group+` "life" not found`) {
		t.Errorf("read afterwards: %v", err)
	}
}

func (w *world) apply(t *testing.T) {
	for _, text := range []string{"one", "two"} {
		n := &unstructured.Unstructured{Object: map[string]any{"text": text}}
		n.SetGroupVersionKind(version.WithKind("Note"))
		n.SetNamespace(w.Namespace)
		n.SetName("applied")
		if err := w.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(n), client.FieldOwner("test")); err != nil {
			t.Fatal(err)
		}
	}
	read := &Note{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "applied"}, read); err != nil || read.Text != "two" {
		t.Errorf("read %+v, %v", read, err)
	}
	if fields := read.ManagedFields; len(fields) != 1 || fields[0].Manager != "test" {
		t.Errorf("managed are %+v", fields)
	}
}

func (w *world) conflict(t *testing.T) {
	n := w.note("old", "one")
	if err := w.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	old := n.DeepCopyObject().(*Note) //nolint:forcetypeassert // a copy of a Note
	n.Text = "two"
	if err := w.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	old.Text = "three"
	if err := w.Update(t.Context(), old); !apierrors.IsConflict(err) {
		t.Errorf("changed: %v", err)
	}
}

func (w *world) dryRun(t *testing.T) {
	if err := w.Create(t.Context(), w.note("dry", ""), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	n := w.note("wet", "one")
	if err := w.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	n.Text = "two"
	if err := w.Update(t.Context(), n, client.DryRunAll); err != nil || n.Text != "two" {
		t.Errorf("%+v, %v", n, err)
	}
	if err := w.Delete(t.Context(), n, client.DryRunAll); err != nil {
		t.Error(err)
	}
	if err := w.Create(t.Context(), w.note("wet", ""), client.DryRunAll); !apierrors.IsAlreadyExists(err) {
		t.Errorf("one that is there could be made: %v", err)
	}
	read := &Note{}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(n), read); err != nil || read.Text != "one" {
		t.Errorf("read %+v, %v", read, err)
	}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "dry"}, read); !apierrors.IsNotFound(err) {
		t.Errorf("made in a dry run: %v", err)
	}
}

func (w *world) selection(t *testing.T) {
	for _, colour := range []string{"red", "blue"} {
		n := w.note("selected-"+colour, "")
		n.Labels = map[string]string{"colour": colour}
		if err := w.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	for name, option := range map[string]client.ListOption{
		"selected-red":  client.MatchingLabels{"colour": "red"},
		"selected-blue": client.MatchingFields{"metadata.name": "selected-blue"},
	} {
		var found NoteList
		if err := w.List(t.Context(), &found, client.InNamespace(w.Namespace), option); err != nil || len(found.Items) != 1 || found.Items[0].Name != name {
			t.Errorf("%s: found %+v, %v", name, found.Items, err)
		}
	}
	if err := w.List(t.Context(), &NoteList{}, client.MatchingFields{"text": "x"}); err == nil {
		t.Error("a field that nobody can select by was taken")
	}
}

func (w *world) watch(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
	defer cancel()
	seen, err := w.Watch(ctx, &NoteList{}, client.InNamespace(w.Namespace), client.MatchingLabels{"watched": "yes"})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	n := w.note("watched", "one")
	n.Labels = map[string]string{"watched": "yes"}
	next := func(want watch.EventType, text string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		event := <-seen.ResultChan()
		got, ok := event.Object.(*Note)
		if event.Type != want || !ok || got.Name != "watched" || got.Text != text {
			t.Fatalf("heard %s %+v, want %s with %q", event.Type, event.Object, want, text)
		}
	}
	next(watch.Added, "one", w.Create(t.Context(), n))
	n.Text = "two"
	next(watch.Modified, "two", w.Update(t.Context(), n))
	n.Labels = nil
	next(watch.Deleted, "two", w.Update(t.Context(), n)) // it is selected no more
	n.Labels = map[string]string{"watched": "yes"}
	next(watch.Added, "two", w.Update(t.Context(), n))
	next(watch.Deleted, "two", w.Delete(t.Context(), n))
}

func (w *world) table(t *testing.T) {
	if err := w.Create(t.Context(), w.note("shown", "hello")); err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	err := w.rest.Get().AbsPath("/apis", group, version.Version, "namespaces", w.Namespace, "notes", "shown").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Into(&table)
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	if got := strings.Join(columns, " "); got != "Name Text Length Age" || len(table.Rows) != 1 {
		t.Fatalf("the columns are %s of %+v", got, table.Rows)
	}
	if got := fmt.Sprint(table.Rows[0].Cells[:3]); got != "[shown hello 5]" {
		t.Errorf("the cells are %s", got)
	}
}

func (w *world) explained(t *testing.T) {
	var body []byte
	localtest.Eventually(t, "API servers to ask the operator for its types", func(ctx context.Context) (err error) {
		body, err = w.rest.Get().AbsPath("/openapi/v3/apis", group, version.Version).DoRaw(ctx)
		return err
	})
	for _, want := range []string{`"text":{"type":"string"`, `"expires":{"type":"string","format":"date-time"`, `"kind":"Note"`, `"fieldManager"`} {
		if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(string(body), " ", ""), `"default":"",`, ""), want) {
			t.Errorf("%s is not in %.2000s", want, body)
		}
	}
}

func (w *world) callers(t *testing.T) {
	name := "reader-" + w.Namespace
	config := rest.CopyConfig(w.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"readers"}}
	as := w.clientAs(t, config)
	if err := as.List(t.Context(), &NoteList{}, client.InNamespace(w.Namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("listed without a right to: %v", err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: []string{"greetings"}, Verbs: []string{"create"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "readers"}},
	}
	w.made(t, role, binding)
	localtest.Eventually(t, "the right to be greeted", func(ctx context.Context) error {
		answer := &Greeting{}
		if err := as.Create(ctx, answer); err != nil {
			return err
		}
		if answer.Text != "hello "+name {
			return fmt.Errorf("the answer is %q", answer.Text)
		}
		return nil
	})
	if err := as.Get(t.Context(), client.ObjectKey{Name: "monday"}, &Day{}); !apierrors.IsForbidden(err) {
		t.Errorf("read without a right to: %v", err)
	}
}

// Whoever reaches the operator itself, and says of himself who he is, is not believed.
func (w *world) forged(t *testing.T) {
	own, err := tls.X509KeyPair(w.Config.CertData, w.Config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{"no certificate": nil, "an administrator's": {own}} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}} // it is not trusted with anything
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+w.address+"/apis/"+version.String()+"/days", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Remote-User", "system:admin")
		request.Header.Set("X-Remote-Group", "system:masters")
		answer, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		err = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized || err != nil {
			t.Errorf("%s: answered with %s, %v", name, answer.Status, err)
		}
		transport.CloseIdleConnections()
	}
}

func (w *world) names(t *testing.T) {
	for name, want := range map[string]string{"": "name or generateName is required", "a/b": "may not contain '/'"} {
		if err := w.Create(t.Context(), w.note(name, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	n := w.note("", "")
	n.GenerateName = "some-"
	if err := w.Create(t.Context(), n); err != nil || !strings.HasPrefix(n.Name, "some-") || len(n.Name) < 8 {
		t.Errorf("made %q, %v", n.Name, err)
	}
}

func (w *world) collection(t *testing.T) {
	if err := w.DeleteAllOf(t.Context(), &Note{}, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}
	var left NoteList
	if err := w.List(t.Context(), &left, client.InNamespace(w.Namespace)); err != nil || len(left.Items) > 0 {
		t.Errorf("left are %+v, %v", left.Items, err)
	}
}

// What a role answers that is none of the known errors is told as an internal one, with its words.
func (w *world) failure(t *testing.T) {
	w.notes.fail(errors.New("the shelf is locked"))
	err := w.List(t.Context(), &NoteList{}, client.InNamespace(w.Namespace))
	w.notes.fail(nil)
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "the shelf is locked") {
		t.Errorf("%v", err)
	}
}
