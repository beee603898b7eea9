package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/operontest"

	"github.com/operon-framework/operon/examples/podrequest/api/v1alpha1"
)

var requests = operontest.New(PodRequest{}, v1alpha1.AddToScheme).CRDs("config/crd")

func sample(t *testing.T) *v1alpha1.PodRequest {
	t.Helper()
	return operontest.Sample[*v1alpha1.PodRequest](t, "config/samples/podrequest.yaml")
}

// The child objects of the sample are as expected, without a cluster.
func TestChildren(t *testing.T) {
	t.Parallel()
	requests.Golden(t, sample(t), "testdata/children.yaml")
}

type (
	step   = operontest.Step[*v1alpha1.PodRequest]
	expect = operontest.Expect[*v1alpha1.PodRequest]
)

// The typical changes in the life of a request work, in a real Kubernetes with simulated nodes.
func TestPodRequest(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "config/crd")
	r := sample(t)
	pods := &life{t: t, of: r}
	edit := func(edit func(*v1alpha1.PodRequestSpec)) operontest.Change {
		return operontest.Edit(r, func(r *v1alpha1.PodRequest) { edit(&r.Spec) })
	}
	replaced := expect{
		Writes: []string{"delete Pod busybox", "create Pod busybox"},
		Events: []string{"Replaced: Pod busybox", "Created: Pod busybox"},
	}
	requests.RunOn(t, env.Config, env.Namespace, operontest.Case[*v1alpha1.PodRequest]{
		Object: r,
		Expect: expect{
			Writes:     []string{"create Pod busybox", "status PodRequest busybox"},
			Events:     []string{"Created: Pod busybox"},
			Conditions: []string{"Ready=True"},
		},
		Then: []step{{
			Name:   "somebody deletes the pod",
			Do:     []operontest.Change{pods.note, operontest.Delete(pod(r))},
			Expect: expect{Writes: []string{"create Pod busybox"}, Events: []string{"Recreated: Pod busybox was deleted"}, Conditions: []string{"Ready=True"}},
		}, {
			Name:   "it is another pod, and the user wants another command",
			Do:     []operontest.Change{pods.another, edit(func(s *v1alpha1.PodRequestSpec) { s.Command = []string{"sleep", "3600"} })},
			Expect: replaced,
		}, {
			Name:   "the user wants another image",
			Do:     []operontest.Change{pods.another, edit(func(s *v1alpha1.PodRequestSpec) { s.Image = "busybox:1.37" })},
			Expect: replaced,
		}, {
			Name:   "the user wants the container to have another name",
			Do:     []operontest.Change{pods.another, edit(func(s *v1alpha1.PodRequestSpec) { s.Name = "box" })},
			Expect: replaced,
		}, {
			Name: "the user is done",
			Do:   []operontest.Change{pods.another, operontest.Delete(r), pods.gone},
		}},
	})
}

// life follows the pods of a request, which exist one at a time.
type life struct {
	t    *testing.T
	of   *v1alpha1.PodRequest
	last types.UID
}

// note records the existing pod.
func (l *life) note(ctx context.Context, p operontest.Place) error {
	found, err := l.found(ctx, p)
	if err == nil && found == nil {
		err = errors.New("there is no pod")
	}
	if err == nil {
		l.last = found.UID
	}
	return err
}

// another waits for a pod that differs from the previous one and matches the request.
func (l *life) another(_ context.Context, p operontest.Place) error {
	localtest.Eventually(l.t, "another pod", func(ctx context.Context) error {
		found, err := l.found(ctx, p)
		if err != nil {
			return err
		}
		if found == nil || found.UID == l.last || found.DeletionTimestamp != nil {
			return errors.New("there is none")
		}
		asked := &v1alpha1.PodRequest{}
		if err := p.Get(ctx, client.ObjectKeyFromObject(found), asked); err != nil {
			return err
		}
		got := found.Spec.Containers[0]
		if len(found.Spec.Containers) != 1 || got.Name != asked.Spec.Name || got.Image != asked.Spec.Image || !slices.Equal(got.Command, asked.Spec.Command) {
			return fmt.Errorf("it runs %+v, want %+v", found.Spec.Containers, asked.Spec)
		}
		l.last = found.UID
		return nil
	})
	return nil
}

// gone waits until no pod exists.
func (l *life) gone(_ context.Context, p operontest.Place) error {
	localtest.Eventually(l.t, "the pod to be gone", func(ctx context.Context) error {
		found, err := l.found(ctx, p)
		if err == nil && found != nil {
			err = errors.New("it is there")
		}
		return err
	})
	return nil
}

// found returns the pod with the request's label, or nil.
func (l *life) found(ctx context.Context, p operontest.Place) (*corev1.Pod, error) {
	var pods corev1.PodList
	if err := p.List(ctx, &pods, client.InNamespace(p.Namespace), client.MatchingLabels{"app": l.of.Name}); err != nil {
		return nil, err
	}
	switch len(pods.Items) {
	case 0:
		return nil, nil
	case 1:
		return &pods.Items[0], nil
	}
	return nil, fmt.Errorf("there are %d pods", len(pods.Items))
}

// A request that cannot become a pod is rejected when it is created, and not when the operator reconciles it.
func TestMistakesAreRefused(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "config/crd")
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*v1alpha1.PodRequest){
		"the name is a label of the pod: want at most 63 characters": func(r *v1alpha1.PodRequest) { r.Name = strings.Repeat("a", 64) },
		"spec.name":    func(r *v1alpha1.PodRequest) { r.Spec.Name = "Busy Box" },
		"spec.image":   func(r *v1alpha1.PodRequest) { r.Spec.Image = "" },
		"spec.command": func(r *v1alpha1.PodRequest) { r.Spec.Command = nil },
	} {
		r := sample(t)
		r.Namespace = env.Namespace
		spoil(r)
		if err := c.Create(t.Context(), r); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
