package lifecycle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/ship/lifecycle"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// The manager is installed like any other operator, and is not uninstalled while there are operators.
func TestInstall(t *testing.T) {
	t.Parallel()
	env := localtest.New(t, local.Options{Nodes: 1})
	var progress bytes.Buffer
	target := deploy.Target{Where: up.Where{Kubeconfig: env.Kubeconfig}, Progress: &progress, Timeout: localtest.Patience}

	if _, err := lifecycle.Install(t.Context(), lifecycle.Options{Target: target}); err == nil || !strings.Contains(err.Error(), "want --image NAME, or --push NAME") {
		t.Errorf("without an image: %v", err)
	}
	other := &unstructured.Unstructured{}
	other.SetUnstructuredContent(map[string]any{"spec": map[string]any{
		"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"app": "olm-operator"}},
		"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "olm-operator"}}, "spec": map[string]any{
			"containers": []any{map[string]any{"name": "olm-operator", "image": "registry.example.com/olm:1.0"}},
		}},
	}})
	other.SetAPIVersion("apps/v1")
	other.SetKind("Deployment")
	other.SetNamespace(metav1.NamespaceDefault)
	other.SetName("olm-operator")
	connection, err := kube.New(env.Config, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Apply(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if _, err := lifecycle.Install(t.Context(), lifecycle.Options{Target: target, Image: "registry.example.com/operon-olm:1.0"}); err == nil ||
		!strings.HasPrefix(err.Error(), "Deployment default/olm-operator runs the Operator Lifecycle Manager") {
		t.Errorf("beside OLM: %v", err)
	}
	if _, err := connection.Merge(t.Context(), other, map[string]any{"spec": map[string]any{"replicas": 0}}); err != nil {
		t.Fatal(err)
	}
	var foretold []string
	result, err := lifecycle.Install(t.Context(), lifecycle.Options{Target: target, Image: "registry.example.com/operon-olm:1.0", Foretold: func(will *deploy.Result) error {
		foretold = will.Created
		return nil
	}})
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	slices.Sort(foretold)
	if created := slices.Sorted(slices.Values(result.Created)); !slices.Equal(foretold, created) || !slices.Contains(created, "Deployment olm-system/olm") {
		t.Errorf("created %q\nforetold %q", created, foretold)
	}
	client := kubernetes.NewForConfigOrDie(env.Config)
	deployment, err := client.AppsV1().Deployments("olm-system").Get(t.Context(), "olm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	if len(container.VolumeMounts) != 1 || container.VolumeMounts[0].MountPath != "/tmp" || container.Resources.Limits.Memory().String() != "512Mi" {
		t.Errorf("the container is %+v", container)
	}
	users := map[string]bool{
		"view get clusterserviceversions": true, "view create subscriptions": false, "edit create subscriptions": false, "olm-subscriber create subscriptions": true,
		"olm-subscriber patch installplans": true, "olm-subscriber create operatorgroups": false, "view get packagemanifests.packages.operators.coreos.com": true,
	}
	for request, allowed := range users {
		mayUser(t, client, request, allowed)
	}

	group := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	group.SetGroupVersionKind(olm.Versions.GroupVersion().WithKind("ClusterServiceVersion"))
	group.SetNamespace(metav1.NamespaceDefault)
	group.SetName("one.v1")
	connection.Refresh() // the kind is new
	if _, err := connection.Apply(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	uninstall := lifecycle.UninstallOptions{UndeployOptions: deploy.UndeployOptions{Target: target, KeepData: true}}
	if _, err := lifecycle.Uninstall(t.Context(), uninstall); err == nil || !strings.HasPrefix(err.Error(), "operators are installed (1), such as one.v1 in namespace default: remove them") {
		t.Errorf("with an operator: %v", err)
	}
	uninstall.KeepOperators, uninstall.DryRun = true, true
	if would, err := lifecycle.Uninstall(t.Context(), uninstall); err != nil || !slices.Contains(would.Removed, "Deployment olm-system/olm") {
		t.Errorf("with --keep-operators, the command would remove %+v, %v", would, err)
	}
	uninstall.KeepOperators, uninstall.DryRun, uninstall.HandBack = false, false, true
	if _, err := connection.Merge(t.Context(), group, map[string]any{"metadata": map[string]any{"finalizers": []string{"operon.dev/cleanup"}}}); err != nil {
		t.Fatal(err)
	}
	elsewhere := uninstall
	elsewhere.Namespace = "elsewhere"
	if _, err := lifecycle.Uninstall(t.Context(), elsewhere); err == nil || !strings.HasPrefix(err.Error(), "nothing was changed: there is no Deployment olm in the namespace elsewhere") {
		t.Errorf("in another namespace: %v", err)
	}
	removal, err := lifecycle.Uninstall(t.Context(), uninstall)
	if !strings.Contains(progress.String(), "handed 1 object back") {
		t.Errorf("the progress is %s", progress.String())
	}
	if err != nil || !slices.Contains(removal.Removed, "Deployment olm-system/olm") ||
		!slices.Contains(removal.Kept, "CustomResourceDefinition subscriptions.operators.coreos.com: kept with its custom resources; --delete-crds deletes both") {
		t.Fatalf("%+v, %v", removal, err)
	}
	if state, err := olm.Read(context.Background(), connection, ""); err != nil || len(state.Versions) != 1 {
		t.Errorf("left are %+v, %v", state, err)
	}
}

// mayUser waits until a user with a ClusterRole in the namespace "default" is allowed or refused a request: role, verb and resource.
func mayUser(t *testing.T, client kubernetes.Interface, request string, allowed bool) {
	t.Helper()
	words := strings.Fields(request)
	resource, group, ok := strings.Cut(words[2], ".")
	if !ok {
		group = "operators.coreos.com"
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "user-"}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: request}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: words[0]},
	}
	if _, err := client.RbacV1().RoleBindings(metav1.NamespaceDefault).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	may := func(verb, group, resource string) bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: request, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: metav1.NamespaceDefault, Verb: verb, Group: group, Resource: resource,
		}}}
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed
	}
	localtest.Eventually(t, request, func(context.Context) error {
		if words[0] != "olm-subscriber" && !may("get", "operators.coreos.com", "subscriptions") {
			return errors.New("the ClusterRole view is not a part of it yet")
		}
		if got := may(words[1], group, resource); got != allowed {
			return fmt.Errorf("allowed is %t, want %t", got, allowed)
		}
		return nil
	})
}
