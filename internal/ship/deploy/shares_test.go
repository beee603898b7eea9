package deploy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/runtime/shard"
	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/local/localtest"
)

var podRequestResource = schema.GroupVersionResource{Group: "pod.jewzaam.org", Version: "v1alpha1", Resource: "podrequests"}

// testShares: three replicas divide the work. Each holds a part. When one is killed, the others take over its part.
func testShares(t *testing.T, c *containers) {
	s := &shares{c.project(t, copyOf(t, "../../../examples/podrequest"), "pod-operator"), c.namespace(t, "shares")}
	s.deploy(t, func(o *deploy.Options) { o.Replicas, o.Shards = 3, 6 })
	holders := s.awaitShares(t, "")
	s.request(t, "first")
	s.kill(t, holders[0])
	s.awaitShares(t, holders[0])
	s.request(t, "second")
	s.undeploy(t)
}

// shares are the replicas of the example podrequest, and the namespace of their requests.
type shares struct {
	*installed
	requests string
}

// awaitShares waits until three pods, except the pod gone, hold two shards each, and returns their names.
func (s *shares) awaitShares(t *testing.T, gone string) (holders []string) {
	t.Helper()
	localtest.Eventually(t, "three replicas to hold two shards each, and none of them "+gone, func(ctx context.Context) error {
		lease, err := s.client.CoordinationV1().Leases(s.namespace()).Get(ctx, s.name+"-shards", metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := s.operators(ctx)
		if err != nil {
			return err
		}
		table := lease.Annotations[shard.TableAnnotation]
		holders = nil
		for _, pod := range pods {
			if strings.Count(table, " "+pod.Name+"-") == 2 {
				holders = append(holders, pod.Name)
			}
		}
		if len(holders) != 3 || slices.Contains(holders, gone) {
			return fmt.Errorf("the table is\n%s", table)
		}
		return nil
	})
	return holders
}

// request creates requests for pods. The replicas that hold the requests create the pods.
func (s *shares) request(t *testing.T, called string) {
	t.Helper()
	var names []string
	for i := range 8 {
		made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"name": "server", "image": serversImage, "command": []any{"/usr/bin/memcached"},
		}}}
		made.SetGroupVersionKind(podRequestResource.GroupVersion().WithKind("PodRequest"))
		made.SetName(fmt.Sprintf("%s-%d", called, i))
		names = append(names, made.GetName())
		create(t, s.objects(podRequestResource, s.requests), made)
	}
	localtest.Eventually(t, "a pod for each of the "+called+" requests", func(ctx context.Context) error {
		for _, name := range names {
			if _, err := s.client.CoreV1().Pods(s.requests).Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}
