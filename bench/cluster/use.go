package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/report"
)

const (
	// used is the number of Deployments in a cluster that is used, and written that of ConfigMaps.
	used, written = 100, 8000
	// writers is the number of clients that write ConfigMaps at the same time.
	writers = 8
)

// use measures control planes that are used: the memory after the requests of `kubectl get` for all kinds and with some Deployments, and
// then the rate of plain writes. Operon's cluster does more with the same requests, because it has controllers and a node.
func use(ctx context.Context, b *bench) error {
	var ours, theirs usage
	for round := range b.rounds {
		progress("  round %d of %d", round+1, b.rounds)
		if err := b.usePeer(ctx, &theirs); err != nil {
			return fmt.Errorf("envtest: %w", err)
		}
		if err := b.useOperon(ctx, &ours); err != nil {
			return fmt.Errorf("operon-cluster: %w", err)
		}
	}
	b.table = append(b.table,
		report.AtMost(fmt.Sprintf("memory with use: all kinds listed, %d Deployments (resident)", used), ours.memory, theirs.memory, report.Megabytes, 0.75),
		report.AtMost("memory with use, peak until then (resident)", ours.peak, theirs.peak, report.Megabytes, 0.75),
		report.AtLeast(fmt.Sprintf("ConfigMaps created a second, %d clients", writers), ours.rate, theirs.rate, perSecond, 2),
	)
	return nil
}

func perSecond(rate float64) string { return fmt.Sprintf("%.0f /s", rate) }

// usage contains the measurements of one contender, with one value for each round.
type usage struct {
	life
	rate []float64
}

func (b *bench) usePeer(ctx context.Context, u *usage) (err error) {
	peer, err := b.startPeer()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, peer.env.Stop()) }()
	return u.measure(ctx, peer.config, func(client.WithWatch) error { return nil }, peer.pids...)
}

func (b *bench) useOperon(ctx context.Context, u *usage) (err error) {
	pid, config, err := b.home.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cluster(context.WithoutCancel(ctx), "down")) }()
	return u.measure(ctx, config, func(c client.WithWatch) error {
		s := &stage{name: "Deployment Available", list: &appsv1.DeploymentList{}, passed: available}
		return s.await(ctx, c, used)
	}, pid)
}

// measure uses a control plane. settled returns when its controllers have dealt with the Deployments.
func (u *usage) measure(ctx context.Context, config *rest.Config, settled func(client.WithWatch) error, pids ...int) error {
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return err
	}
	if err := listAll(ctx, config); err != nil {
		return err
	}
	if err := create(ctx, c, writers, used, func(name string) client.Object { return deployment(name) }); err != nil {
		return err
	}
	if err := settled(c); err != nil {
		return err
	}
	if err := u.rested(ctx, pids...); err != nil {
		return err
	}
	began := time.Now()
	err = create(ctx, c, writers, written, func(name string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}, Data: map[string]string{"name": name}}
	})
	u.rate = append(u.rate, written/time.Since(began).Seconds())
	return err
}

// listAll requests what `kubectl get` and `kubectl explain` request for all kinds: discovery, OpenAPI documents, and the objects.
func listAll(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.UserAgent = "kubectl/bench"
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := found.RESTClient().Get().AbsPath("/openapi/v2").Do(ctx).Error(); err != nil {
		return err
	}
	documents, err := found.OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	for _, document := range documents {
		if _, err := document.Schema("application/json"); err != nil {
			return err
		}
	}
	lists, err := discovery.ServerPreferredResourcesWithContext(ctx, found)
	if err != nil {
		return err
	}
	kinds, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists))
	if err != nil {
		return err
	}
	for kind := range kinds {
		if _, err := objects.Resource(kind).List(ctx, metav1.ListOptions{}); err != nil {
			return fmt.Errorf("list %s: %w", kind.Resource, err)
		}
	}
	return nil
}
