package recorder_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/recorder"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

func TestMain(m *testing.M) { boxtest.Main(m) }

// Events are recorded with the API that the operator may use, and no request is denied.
func TestEventsAreRecordedWithTheAllowedAPI(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		groups []string
		path   string
	}{
		"current": {[]string{"events.k8s.io"}, "/apis/events.k8s.io/v1/"},
		"core":    {[]string{""}, "/api/v1/"},
		"both":    {[]string{"", "events.k8s.io"}, "/apis/events.k8s.io/v1/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := boxtest.New(t)
			requests := &requests{}
			events, _ := record(w, requests, test.groups)
			about := &corev1.ConfigMap{ObjectMeta: w.Meta("about")}
			w.Must(w.Client.Create(t.Context(), about))
			related := &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: w.Namespace, Name: "related"}
			events.Eventf(about, related, corev1.EventTypeWarning, "Tested", "Test", "for the %s time", "first")
			w.Event("Tested", "for the first time")
			events.Eventf(about, related, corev1.EventTypeWarning, "Tested", "Test", "again")
			w.Eventually("the event to have a series", func(ctx context.Context) error {
				var list eventsv1.EventList
				if err := w.Client.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
					return err
				}
				if len(list.Items) != 1 || list.Items[0].Series == nil || list.Items[0].Series.Count != 2 {
					return fmt.Errorf("events: %v", list.Items)
				}
				event := list.Items[0]
				got := fmt.Sprint(event.Type, event.Reason, event.Action, event.Note, event.Regarding.UID, event.Related.Name, event.ReportingController, event.EventTime.IsZero())
				if want := fmt.Sprint("Warning", "Tested", "Test", "for the first time", about.UID, "related", "tester", false); got != want {
					return fmt.Errorf("the event is %s, want %s", got, want)
				}
				return nil
			})
			requests.wereTo(t, "POST 201 "+test.path+"namespaces/"+w.Namespace+"/events", "PATCH 200 "+test.path+"namespaces/"+w.Namespace+"/events")
		})
	}
}

// An operator that may not record events says so once, and no request is denied.
func TestEventsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	w := boxtest.New(t)
	requests := &requests{}
	events, log := record(w, requests, []string{"apps"})
	about := &corev1.ConfigMap{ObjectMeta: w.Meta("about")}
	for range 3 {
		events.Eventf(about, nil, corev1.EventTypeNormal, "Tested", "Test", "not recorded")
	}
	const text = "needs the verbs create and patch for events"
	w.Eventually("the log to say it", log.Has(text))
	w.Still("the log says it once", func(context.Context) error {
		if n := strings.Count(log.String(), text); n != 1 {
			return fmt.Errorf("%d times", n)
		}
		return nil
	})
	requests.wereTo(t)
}

// record starts a recorder with the permission for events in some API groups. The recorder stops with the test.
func record(w *boxtest.Fixture, requests *requests, groups []string) (*recorder.Recorder, *boxtest.Lines) {
	w.Helper()
	user := "records-" + w.Namespace
	w.Must(w.Client.Create(w.Context(), &rbacv1.Role{
		ObjectMeta: w.Meta(user), Rules: []rbacv1.PolicyRule{{APIGroups: groups, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}},
	}))
	w.Must(w.Client.Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: w.Meta(user), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	for _, group := range groups {
		w.May(user, "create", group, "events")
	}
	cluster := rest.CopyConfig(w.Config)
	cluster.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	cluster.Wrap(requests.note)
	with, err := rest.HTTPClientFor(cluster)
	w.Must(err)
	lines := &boxtest.Lines{}
	log := funcr.New(func(_, args string) { fmt.Fprintln(lines, args) }, funcr.Options{})
	r, err := recorder.New("tester", cluster, with, scheme.Scheme, log)
	w.Must(err)
	stop, err := r.Start(w.Context())
	w.Must(err)
	w.Cleanup(stop)
	return r, lines
}

// requests are the requests of a recorder that concern events, with the status of the response.
type requests struct {
	mu  sync.Mutex
	all []string
}

func (r *requests) note(next http.RoundTripper) http.RoundTripper {
	return boxtest.RoundTripper(func(request *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(request)
		if err == nil && strings.Contains(request.URL.Path, "/events") {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.all = append(r.all, fmt.Sprint(request.Method, " ", answer.StatusCode, " ", request.URL.Path))
		}
		return answer, err
	})
}

// wereTo fails the test if there were other requests than those that begin with the texts, in that order.
func (r *requests) wereTo(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) != len(want) {
		t.Fatalf("requests %q, want %q", r.all, want)
	}
	for i := range want {
		if !strings.HasPrefix(r.all[i], want[i]) {
			t.Errorf("request %q, want %q", r.all[i], want[i])
		}
	}
}
