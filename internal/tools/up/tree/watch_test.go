package tree_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/tools/up/tree"
	"github.com/operon-framework/operon/local/localtest"
)

// A Deployment is used in place of a custom resource: it also has children down to pods.
var deployments = tree.RootKind{
	GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Kind: "Deployment", Reports: true,
}

func TestWatchFollowsATreeDownToItsPods(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	watcher, err := tree.Watch(ctx, env.Config, []tree.RootKind{deployments})
	if err != nil {
		t.Fatal(err)
	}
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	watcher.Expect([]tree.Sample{{GroupVersionKind: secret, Namespace: env.Namespace, Name: "one"}})
	client := kubernetes.NewForConfigOrDie(env.Config)
	create(t, client, env.Namespace)

	localtest.Eventually(t, "the tree", func(ctx context.Context) error {
		roots := ofNamespace(watcher.Snapshot().Roots, env.Namespace)
		return same(outline(roots, ""), "Deployment web Ready", " ReplicaSet web- Ready", "  Pod web- Ready", "  Pod web- Ready", "Secret one Missing")
	})
	localtest.Eventually(t, "the events", func(ctx context.Context) error {
		if events := watcher.Snapshot().Events; !slices.ContainsFunc(events, func(e tree.Event) bool {
			return e.Object == "Deployment "+env.Namespace+"/web" && e.Reason == "ScalingReplicaSet" && !e.Last.IsZero()
		}) {
			return fmt.Errorf("%+v", events)
		}
		return nil
	})
	makeSecret(t, client, env.Namespace)
	localtest.Eventually(t, "the Secret", func(context.Context) error {
		roots := ofNamespace(watcher.Snapshot().Roots, env.Namespace)
		secret := roots[len(roots)-1]
		if text := fmt.Sprint(secret.Object.Object); strings.Contains(text, "hidden") || strings.Contains(text, "aGlkZGVu") {
			t.Errorf("what it holds is kept: %s", text)
		}
		return same(outline(roots[len(roots)-1:], ""), "Secret one Ready")
	})
	if unseen := watcher.Unseen(); len(unseen) > 0 {
		t.Errorf("an administrator may not see %q", unseen)
	}
}

// A kind that was deleted, and whose objects can never be read, does not prevent reports about other kinds.
func TestAKindThatIsGoneIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	gone := tree.RootKind{GroupVersionResource: schema.GroupVersionResource{Group: "gone.example.com", Version: "v1", Resource: "things"}, Kind: "Thing"}
	watcher, err := tree.Watch(t.Context(), env.Config, []tree.RootKind{deployments, gone})
	if err != nil {
		t.Fatal(err)
	}
	watcher.Expect([]tree.Sample{{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: env.Namespace, Name: "one"}})
	localtest.Eventually(t, "the sample to be missed", func(context.Context) error {
		return same(outline(ofNamespace(watcher.Snapshot().Roots, env.Namespace), ""), "Secret one Missing")
	})
}

func create(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	labels, replicas := map[string]string{"app": "web"}, int32(2)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web:1"}}},
			},
		},
	}
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func makeSecret(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "one"}, StringData: map[string]string{"password": "hidden"}}
	if _, err := client.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func ofNamespace(roots []*tree.Node, namespace string) []*tree.Node {
	return slices.DeleteFunc(roots, func(node *tree.Node) bool { return node.Object.GetNamespace() != namespace })
}

// outline formats a tree, with generated names shortened to their prefix.
func outline(nodes []*tree.Node, indent string) []string {
	var lines []string
	for _, node := range nodes {
		title, _, _ := strings.Cut(node.Title(), "-")
		if title != node.Title() {
			title += "-"
		}
		lines = append(lines, indent+title+" "+string(node.State))
		lines = append(lines, outline(node.Children, indent+" ")...)
	}
	return lines
}

func same(got []string, want ...string) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	return nil
}
