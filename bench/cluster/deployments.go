package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/report"
)

// deployments measures the time of single-pod Deployments from their creation until they are Available, and when the last
// object passed each stage.
func deployments(ctx context.Context, b *bench) error {
	pid, c, err := b.home.Up(ctx)
	if err != nil {
		return err
	}
	before, err := report.Usage(pid)
	if err != nil {
		return err
	}
	began := time.Now()
	stages, err := roll(ctx, c, b.objects)
	if err != nil {
		return err
	}
	after, err := report.Usage(pid)
	if err != nil {
		return err
	}
	for _, s := range stages {
		b.table = append(b.table, report.Within(fmt.Sprintf("%d Deployments: the last %s", b.objects, s.name), []time.Duration{s.last.Sub(began)}, 0))
	}
	b.table = append(b.table,
		report.Within("… CPU of the cluster meanwhile", []time.Duration{after.CPU - before.CPU}, 0),
		report.Figure{Name: "… memory afterwards (resident)", Operon: report.Megabytes(after.Resident), Met: report.None},
	)
	return b.cluster(ctx, "down")
}

// stage is a stage that each Deployment passes.
type stage struct {
	name   string
	list   client.ObjectList
	passed func(client.Object) bool

	last time.Time
}

func roll(ctx context.Context, c client.WithWatch, count int) ([]*stage, error) {
	stages := []*stage{
		{name: "Deployment created", list: &appsv1.DeploymentList{}, passed: always},
		{name: "ReplicaSet created", list: &appsv1.ReplicaSetList{}, passed: always},
		{name: "pod created", list: &corev1.PodList{}, passed: always},
		{name: "pod bound to a node", list: &corev1.PodList{}, passed: bound},
		{name: "pod Ready", list: &corev1.PodList{}, passed: podReady},
		{name: "Deployment Available", list: &appsv1.DeploymentList{}, passed: available},
	}
	group, watching := errgroup.WithContext(ctx)
	for _, s := range stages {
		group.Go(func() error { return s.await(watching, c, count) })
	}
	group.Go(func() error {
		return create(watching, c, creators, count, func(name string) client.Object { return deployment(name) })
	})
	return stages, group.Wait()
}

// await returns when count objects have passed the stage.
func (s *stage) await(ctx context.Context, c client.WithWatch, count int) error {
	watch, err := c.Watch(ctx, s.list, client.InNamespace(metav1.NamespaceDefault))
	if err != nil {
		return err
	}
	defer watch.Stop()
	seen := map[types.UID]bool{}
	for event := range watch.ResultChan() {
		if event.Type == apiwatch.Error {
			return apierrors.FromObject(event.Object)
		}
		object, ok := event.Object.(client.Object)
		if !ok || !s.passed(object) {
			continue
		}
		if seen[object.GetUID()] = true; len(seen) == count {
			s.last = time.Now()
			return nil
		}
	}
	return errors.Join(fmt.Errorf("the watch ended when %d of %d had got to: %s", len(seen), count, s.name), context.Cause(ctx))
}

func always(client.Object) bool { return true }

func bound(o client.Object) bool {
	pod, ok := o.(*corev1.Pod)
	return ok && pod.Spec.NodeName != ""
}

func podReady(o client.Object) bool {
	pod, ok := o.(*corev1.Pod)
	return ok && ready(pod)
}

func available(o client.Object) bool {
	d, ok := o.(*appsv1.Deployment)
	return ok && d.Status.AvailableReplicas > 0
}
