package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local/localtest"
)

var (
	siteResource    = schema.GroupVersionResource{Group: "web.example.com", Version: "v1", Resource: "sites"}
	monitorResource = schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"}
)

// testSite: an operator works in one namespace, and not in another. API servers and clients that read its metrics reach it
// through its Services.
func testSite(t *testing.T, c *containers) {
	watched, other := c.namespace(t, "watched"), c.namespace(t, "other")
	s := c.project(t, copyOf(t, "../../../examples/site"), "site-operator")
	s.deploy(t, func(o *deploy.Options) { o.Watch = []string{watched} })
	s.asked(t, watched)
	if err := s.site(t.Context(), watched, "not-a-host", "-"); refuses(err, "denied the request", "spec.host") != nil {
		t.Errorf("a host that is none: %v", err)
	}
	if err := errors.Join(s.site(t.Context(), other, "site", "-"), s.site(t.Context(), watched, "site", "www.example.com")); err != nil {
		t.Fatal(err)
	}
	s.awaitSite(t, watched)
	s.untouched(t, other)
	for _, namespace := range []string{watched, other, ""} {
		s.may(t, "", "configmaps", namespace, namespace == watched)
		s.may(t, siteResource.Group, siteResource.Resource, namespace, namespace == watched)
	}
	monitor, err := c.objects(monitorResource, s.namespace()).Get(t.Context(), s.name, metav1.GetOptions{})
	if err != nil || lacks(fmt.Sprint(monitor.Object["spec"]), "port:metrics", "scheme:https", "app.kubernetes.io/name:"+s.name) != nil {
		t.Errorf("the ServiceMonitor: %v, %v", monitor, err)
	}
	s.scrape(t)
	s.undeploy(t)
}

// asked waits until API servers have received both webhooks, which they receive one by one.
func (i *installed) asked(t *testing.T, namespace string) {
	t.Helper()
	localtest.Eventually(t, "the webhooks to be asked", func(ctx context.Context) error {
		made, err := i.objects(siteResource, namespace).Create(ctx, site("probe", "www.example.com"), dry)
		if err != nil {
			return err
		}
		if title, _, _ := unstructured.NestedString(made.Object, "spec", "title"); title == "" {
			return errors.New("it has no title")
		}
		_, err = i.objects(siteResource, namespace).Create(ctx, site("probe", "-"), dry)
		return refuses(err, "denied the request")
	})
}

// site creates a Site.
func (i *installed) site(ctx context.Context, namespace, name, host string) error {
	_, err := i.objects(siteResource, namespace).Create(ctx, site(name, host), metav1.CreateOptions{})
	return err
}

func site(name, host string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"host": host}}}
	made.SetGroupVersionKind(siteResource.GroupVersion().WithKind("Site"))
	made.SetName(name)
	return made
}

// awaitSite waits until a Site has its objects. A webhook sets its title.
func (i *installed) awaitSite(t *testing.T, namespace string) {
	t.Helper()
	localtest.Eventually(t, "the site's servers", func(ctx context.Context) error {
		_, err := i.client.AppsV1().Deployments(namespace).Get(ctx, "site", metav1.GetOptions{})
		return err
	})
	site, err := i.objects(siteResource, namespace).Get(t.Context(), "site", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if title, _, _ := unstructured.NestedString(site.Object, "spec", "title"); title != "www.example.com" {
		t.Errorf("the title is %q", title)
	}
}

// untouched checks a Site in a namespace in which the operator does not work.
func (i *installed) untouched(t *testing.T, namespace string) {
	t.Helper()
	site, err := i.objects(siteResource, namespace).Get(t.Context(), "site", metav1.GetOptions{})
	if err != nil || site.Object["status"] != nil || len(site.GetFinalizers()) > 0 {
		t.Errorf("it was touched: %v, %v", site, err)
	}
	made, err := i.client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"})
	if err != nil || len(made.Items) > 0 {
		t.Errorf("made was %v, %v", made, err)
	}
}

// scrape requests metrics through the Service, with and without permission.
func (i *installed) scrape(t *testing.T) {
	t.Helper()
	from := i.namespaceOfScrapers(t)
	for account, want := range map[string]string{"prometheus": "with the token: 200 OK\nwithout: 401 Unauthorized\n", "somebody": "with the token: 403 Forbidden\nwithout: 401 Unauthorized\n"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: account}, Spec: corev1.PodSpec{
			ServiceAccountName: account, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "scraper", Image: scraperImage, ImagePullPolicy: corev1.PullNever,
				Env: []corev1.EnvVar{{Name: "METRICS", Value: fmt.Sprintf("https://%s-metrics.%s.svc:8080/metrics", i.name, i.namespace())}},
			}},
		}}
		if _, err := i.client.CoreV1().Pods(from).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		localtest.Eventually(t, account+" to be answered", func(ctx context.Context) error {
			said, err := i.client.CoreV1().Pods(from).GetLogs(account, &corev1.PodLogOptions{}).DoRaw(ctx)
			if err == nil && string(said) != want {
				err = fmt.Errorf("it says\n%s", said)
			}
			return err
		})
	}
}

const scraperImage = "scraper:1"

// namespaceOfScrapers creates two ServiceAccounts, of which one may scrape, and loads an image for both into the node.
func (i *installed) namespaceOfScrapers(t *testing.T) string {
	t.Helper()
	i.loadScraper(t)
	namespace := i.containers.namespace(t, "scrapers")
	for _, name := range []string{"prometheus", "somebody"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := i.client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	bindings := i.client.RbacV1().ClusterRoleBindings()
	_, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: i.name + "-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "prometheus"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bindings.Delete(context.WithoutCancel(t.Context()), namespace, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	// The operator caches an answer for a minute, so that it must not ask too early.
	localtest.Eventually(t, "the right to scrape", func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + namespace + ":prometheus", NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		}}
		answer, err := i.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = errors.New("it does not exist yet")
		}
		return err
	})
	return namespace
}

// loadScraper builds the scraper's image and loads it into the node.
func (c *containers) loadScraper(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	testaid.Copy(t, dir, "testdata/scraper")
	made, err := build.Run(t.Context(), dir, build.Options{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	name, err := image.ParseName(scraperImage)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.Store.Deliver(t.Context(), name, made.Image, image.Delivery{Cluster: c.cluster}); err != nil {
		t.Fatal(err)
	}
}
