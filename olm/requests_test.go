package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// requests records the writes of the manager, and what it must not send.
type requests struct {
	mu  sync.Mutex
	all []string
	// refused are requests that the manager has no permission for, and wide those that read Secrets without a label.
	refused, wide []string
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		text := request.Method + " " + request.URL.Path
		r.mu.Lock()
		if counts(request) {
			r.all = append(r.all, text)
		}
		if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/secrets") && request.URL.Query().Get("labelSelector") == "" &&
			!strings.HasPrefix(request.URL.Query().Get("fieldSelector"), "metadata.name=") {
			r.wide = append(r.wide, text)
		}
		r.mu.Unlock()
		response, err := next.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusForbidden {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return nil, err
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		// Admission forbids requests as well, such as those in a namespace that is being deleted.
		if bytes.Contains(body, []byte("is forbidden: User ")) {
			r.mu.Lock()
			r.refused = append(r.refused, text)
			r.mu.Unlock()
		}
		return response, nil
	})
}

// counts reports whether a request is a write of an object. Questions about permissions are none.
func counts(request *http.Request) bool {
	return request.Method != http.MethodGet && !strings.Contains(request.URL.Path, "/leases") && !strings.Contains(request.URL.Path, "/events") &&
		!strings.Contains(request.URL.Path, "reviews")
}

// list returns the requests so far.
func (r *requests) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// mustNotContain fails the test if the manager has written to a path with a text.
func (r *requests) mustNotContain(t *testing.T, text string) {
	t.Helper()
	for _, one := range r.list() {
		if strings.Contains(one, text) {
			t.Errorf("the manager has sent %s", one)
		}
	}
}

// check fails the test if the manager had to be refused something, apart from reading the stored objects of the test, or if it has read more
// Secrets than its own.
func (r *requests) check(w *world) {
	w.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.refused {
		if !strings.HasPrefix(one, "GET /apis/"+w.group+"/") {
			w.Errorf("the manager has no permission for %s", one)
		}
	}
	for _, one := range r.wide {
		w.Errorf("the manager reads all Secrets: %s", one)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// restricted returns a connection to the cluster with the permissions that the manager declares, and no others.
func (w *world) restricted() *rest.Config {
	w.Helper()
	if w.account != nil { // of a manager that ran before
		return rest.CopyConfig(w.account)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-manager"}, Rules: declared(w.T)}
	user := "system:serviceaccount:" + w.Namespace + ":manager"
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	w.Add(role, binding)
	w.Cleanup(func() {
		ctx := context.WithoutCancel(w.Context())
		for _, object := range []client.Object{binding, role} {
			w.Must(client.IgnoreNotFound(w.Delete(ctx, object)))
		}
	})
	w.awaitPermission(user)
	config := rest.CopyConfig(w.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + w.Namespace, "system:authenticated"}}
	w.account = rest.CopyConfig(config)
	return config
}

// awaitPermission waits until the API server has read the role of the manager and its binding, which it does some time after they are created.
func (w *world) awaitPermission(user string) {
	w.Helper()
	localtest.Eventually(w.T, "the permissions of "+user, func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: v1alpha1.GroupVersion.Group, Resource: "subscriptions", Verb: "list", Namespace: w.Namespace},
		}}
		if err := w.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			return fmt.Errorf("list of Subscriptions is not allowed: %+v", review.Status)
		}
		return nil
	})
}

// declared returns the rules that the manager declares.
func declared(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	content, err := os.ReadFile("config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []rbacv1.PolicyRule
	for _, document := range bytes.Split(content, []byte("---\n")) {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal(document, &role); err != nil {
			t.Fatal(err)
		}
		all = append(all, role.Rules...)
	}
	return all
}

// The manager names all verbs and resources that it needs. That these are enough is what the other tests show: the manager has no others in
// them.
func TestDeclaredPermissions(t *testing.T) {
	t.Parallel()
	rules := declared(t)
	if len(rules) < 10 {
		t.Errorf("there are %d rules", len(rules))
	}
	for _, rule := range rules {
		if slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), "*") || len(rule.NonResourceURLs) > 0 {
			t.Errorf("the rule %+v is not limited", rule)
		}
	}
}

// firstTimesOut answers the first request as a busy API server does.
func firstTimesOut(next http.RoundTripper) http.RoundTripper {
	var requests atomic.Int64
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if requests.Add(1) > 1 {
			return next.RoundTrip(request)
		}
		status := apierrors.NewTimeoutError("unable to return a response in the time allotted", 0).Status()
		status.APIVersion, status.Kind = "v1", "Status"
		body, err := json.Marshal(status)
		header := http.Header{"Content-Type": {"application/json"}}
		return &http.Response{StatusCode: http.StatusGatewayTimeout, Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: request}, err
	})
}
