package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/internal/testing/box"
)

// parcels is the CRD with the versions.
//
//go:embed parcels.yaml
var parcels []byte

const (
	group = "bench.operon.dev"
	// stored is the stored version, other is the version that is converted.
	stored, other = "v1", "v1beta1"
)

// Parcel is the stored version, OldParcel is the other one.
type (
	Parcel struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`

		Spec struct {
			Addressee string `json:"addressee,omitempty"`
		} `json:"spec,omitempty"`
		Status box.BoxStatus `json:"status,omitempty"`
	}
	OldParcel struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`

		Spec struct {
			To string `json:"to,omitempty"`
		} `json:"spec,omitempty"`
		Status box.BoxStatus `json:"status,omitempty"`
	}
)

// DeepCopyObject implements runtime.Object.
func (p *Parcel) DeepCopyObject() runtime.Object { return box.Copied(p) }

// DeepCopyObject implements runtime.Object.
func (p *OldParcel) DeepCopyObject() runtime.Object { return box.Copied(p) }

// Hub marks the version to which others are converted.
func (p *Parcel) Hub() {}

// ConvertTo converts an OldParcel to a Parcel.
func (p *OldParcel) ConvertTo(hub conversion.Hub) error {
	to := hub.(*Parcel)
	to.ObjectMeta, to.Status, to.Spec.Addressee = p.ObjectMeta, p.Status, p.Spec.To
	return nil
}

// ConvertFrom converts a Parcel to an OldParcel.
func (p *OldParcel) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*Parcel)
	p.ObjectMeta, p.Status, p.Spec.To = from.ObjectMeta, from.Status, from.Spec.Addressee
	return nil
}

func addParcel(scheme *runtime.Scheme) error {
	for version, object := range map[string]runtime.Object{stored: &Parcel{}, other: &OldParcel{}} {
		served := schema.GroupVersion{Group: group, Version: version}
		scheme.AddKnownTypeWithName(served.WithKind("Parcel"), object)
		scheme.AddKnownTypeWithName(served.WithKind("ParcelList"), &unstructured.UnstructuredList{})
		metav1.AddToGroupVersion(scheme, served)
	}
	return nil
}

// kept is an operator of parcels that composes nothing.
type kept struct{}

func (kept) Compose(context.Context, *Parcel, *operon.Composition) error { return nil }

// world is a cluster with an operator that serves conversions.
type world struct {
	client client.Client
	stop   func()
}

func newWorld(ctx context.Context, c *cluster.Cluster) (*world, error) {
	w := &world{client: c.Client}
	running, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	var failed error
	ended.Go(func() {
		failed = operon.Run(running, "bench-conversion", c.Config, operon.Config{Namespace: metav1.NamespaceSystem, Webhooks: operon.Webhooks{BindAddress: "127.0.0.1:0"}},
			operon.API(addParcel), operon.Manage(kept{}))
		cancel()
	})
	w.stop = func() { cancel(); ended.Wait() }
	if err := w.converts(running); err != nil {
		w.stop()
		return nil, errors.Join(err, failed)
	}
	return w, nil
}

// converts creates the objects, and returns when they are served in both versions.
func (w *world) converts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := errors.Join(w.make(ctx, stored), w.make(ctx, other))
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("objects are not converted: %w", errors.Join(err, ctx.Err()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// make creates the object of a version, and reads it in both versions.
func (w *world) make(ctx context.Context, version string) error {
	one := parcel(version)
	address(one, "addressee")
	if err := client.IgnoreAlreadyExists(w.client.Create(ctx, one)); err != nil {
		return err
	}
	for _, served := range []string{stored, other} {
		read := parcel(served)
		read.SetName(one.GetName())
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(read), read); err != nil {
			return err
		}
		if addressee(read) == "" {
			return fmt.Errorf("%s has no addressee in %s", one.GetName(), served)
		}
	}
	return nil
}

func parcel(version string) *unstructured.Unstructured {
	p := &unstructured.Unstructured{}
	p.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: "Parcel"})
	p.SetNamespace(metav1.NamespaceDefault)
	p.SetName("of-" + version)
	return p
}

func field(p *unstructured.Unstructured) string {
	if p.GroupVersionKind().Version == stored {
		return "addressee"
	}
	return "to"
}

func addressee(p *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(p.Object, "spec", field(p))
	return text
}

func address(p *unstructured.Unstructured, to string) {
	p.Object["spec"] = map[string]any{field(p): to}
}
