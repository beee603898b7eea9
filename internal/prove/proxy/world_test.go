package proxy_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/local/localtest"
)

// newWorld returns a stand whose operator sees the test's namespace as the whole cluster.
func newWorld(t *testing.T, faults ...fault.Fault) *stand {
	t.Helper()
	return standWith(t, proxy.Options{World: proxy.World{Namespace: ownWorld}}, faults...)
}

func (s *stand) everywhere(config *rest.Config) kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(config)
}

// Requests across all namespaces return only objects of the world's namespace, in each encoding, with selectors.
func TestAWorldIsAllThereIs(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			s := newWorld(t)
			config := s.Proxy.Config()
			config.ContentType = contentType
			client := s.everywhere(config)
			for name, label := range map[string]string{"a": "yes", "b": "no"} {
				object := configMap(name, nil)
				object.Labels = map[string]string{"chosen": label}
				_, err := client.CoreV1().ConfigMaps(s.Namespace).Create(t.Context(), object, metav1.CreateOptions{})
				s.must(err)
			}
			s.seesOnly(client, metav1.ListOptions{LabelSelector: "chosen=yes"}, "a")
			s.seesOnly(client, metav1.ListOptions{LabelSelector: "chosen"}, "a", "b")
			s.seesOnly(client, metav1.ListOptions{FieldSelector: "metadata.name=b"}, "b")
			s.seesOnly(client, metav1.ListOptions{LabelSelector: "chosen", ResourceVersion: "0"}, "a", "b")
			r := s.recorded("list", "")
			if r.Namespace != "" || r.Within != s.Namespace || r.Path != "/api/v1/configmaps" {
				t.Errorf("recorded is %+v", r)
			}
			namespaces, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name!=kube-system"})
			s.must(err)
			if len(namespaces.Items) != 1 || namespaces.Items[0].Name != s.Namespace {
				t.Errorf("the namespaces are %v", namespaces.Items)
			}
			if _, err := client.CoreV1().ConfigMaps("kube-system").List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Error(err)
			}
			if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func (s *stand) seesOnly(client kubernetes.Interface, of metav1.ListOptions, want ...string) {
	s.Helper()
	list, err := client.CoreV1().ConfigMaps("").List(s.Context(), of)
	s.must(err)
	var names []string
	for _, each := range list.Items {
		names = append(names, each.Name)
		if each.Namespace != s.Namespace {
			s.Errorf("%s is in %s", each.Name, each.Namespace)
		}
	}
	if !slices.Equal(names, want) {
		s.Errorf("%+v shows %v, want %v", of, names, want)
	}
}

// Two worlds on one cluster do not see each other's changes.
func TestWorldsAreApart(t *testing.T) {
	t.Parallel()
	one, two := newWorld(t), newWorld(t)
	client := two.everywhere(two.Proxy.Config())
	stream, err := client.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{LabelSelector: "apart"})
	two.must(err)
	defer stream.Stop()
	for _, s := range []*stand{one, two} {
		object := configMap("x", nil)
		object.Labels = map[string]string{"apart": ""}
		_, err := s.configMaps().Create(t.Context(), object, metav1.CreateOptions{})
		s.must(err)
	}
	select {
	case event := <-stream.ResultChan():
		if object := event.Object.(*corev1.ConfigMap); object.Namespace != two.Namespace {
			t.Errorf("saw %s/%s", object.Namespace, object.Name)
		}
	case <-time.After(localtest.Patience):
		t.Error("the world's own change is not shown")
	}
}

// A kind that is defined while the proxy runs is discovered and then also restricted to the world.
func TestKindsMayComeLater(t *testing.T) {
	t.Parallel()
	s := newWorld(t)
	resource := schema.GroupVersionResource{Group: "test.operon.dev", Version: "v1", Resource: "boxes"}
	client := dynamic.NewForConfigOrDie(s.Proxy.Config()).Resource(resource)
	_, _ = client.List(t.Context(), metav1.ListOptions{}) // the kind may not exist yet
	s.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	for _, namespace := range []string{s.Namespace, "default"} {
		box := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "test.operon.dev/v1", "kind": "Box", "metadata": map[string]any{"name": s.Namespace}}}
		boxes := dynamic.NewForConfigOrDie(s.Env.Config).Resource(resource).Namespace(namespace)
		_, err := boxes.Create(t.Context(), box, metav1.CreateOptions{})
		s.must(err)
		t.Cleanup(func() { s.must(boxes.Delete(context.WithoutCancel(t.Context()), s.Namespace, metav1.DeleteOptions{})) })
	}
	localtest.Eventually(t, "the world's boxes", func(ctx context.Context) error {
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].GetNamespace() != s.Namespace {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		return nil
	})
}
