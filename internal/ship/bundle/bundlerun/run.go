// Package bundlerun installs a bundle in a cluster that has the lifecycle manager, without an image of the bundle and without a catalog image:
// the bundle is put into a catalog in a ConfigMap. A further version is added to that catalog, and becomes an upgrade.
//
// The command can be interrupted and started again at any time. What it creates has a label with the name of the package, by which package
// change removes it together with the operator.
package bundlerun

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/olm/change"
)

// Manager is the field manager of what Run applies.
const Manager = "operon-bundle-run"

// Options of Run.
type Options struct {
	// Bundle is the bundle, without problems.
	Bundle *bundle.Bundle
	// Client is a client of the cluster, with the field manager Manager.
	Client *kube.Client
	// Namespace is where the operator is installed. It has to exist.
	Namespace string
	// Mode is an install mode, with = and the namespaces for SingleNamespace and MultiNamespace. It is used if the namespace has no
	// OperatorGroup. If it is empty, the first supported one of AllNamespaces and OwnNamespace is used.
	Mode string
	// Timeout limits the time until the version runs.
	Timeout time.Duration
	// Tell is called with what happens.
	Tell func(string)
}

// Result is what was installed. Its JSON is stable.
type Result struct {
	Namespace    string `json:"namespace"`
	Package      string `json:"package"`
	CSV          string `json:"csv"`
	Subscription string `json:"subscription"`
	// Catalog is the CatalogSource, and the ConfigMap with its content.
	Catalog string `json:"catalog"`
}

// Run installs a bundle, or upgrades to it, and waits until it runs. Before anything is written, the bundle and the namespace are checked.
func Run(ctx context.Context, o Options) (*Result, error) {
	one := *o.Bundle
	one.FromImage, o.Bundle = "", &one // the catalog contains the bundle, so that the cluster needs no access to its image
	state, err := olm.Read(ctx, o.Client, o.Namespace)
	if err != nil {
		return nil, err
	}
	if len(state.Lacks) > 0 {
		return nil, fmt.Errorf("what is installed in the namespace is not known: %s", state.Lacks[0])
	}
	r := &run{Options: o, state: state, made: &Result{Namespace: o.Namespace, Package: one.Package, CSV: one.CSV.Name, Subscription: one.Package, Catalog: "bundle-" + one.Package}}
	objects, err := r.objects(ctx)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if _, err := o.Client.Apply(ctx, object); err != nil {
			return nil, refused(object, err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("%s does not run after %s", r.made.CSV, o.Timeout))
	defer cancel()
	return r.made, change.Await(ctx, o.Client, o.Namespace, r.made.Subscription, r.made.CSV, o.Tell)
}

// run is one call of Run.
type run struct {
	Options
	state *olm.State
	made  *Result
}

// objects returns what is written, in this order.
func (r *run) objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	group, err := r.group()
	if err != nil {
		return nil, err
	}
	catalog, err := r.catalog(ctx)
	if err != nil {
		return nil, err
	}
	source := r.object("operators.coreos.com/v1alpha1", "CatalogSource", r.made.Catalog, map[string]any{
		"sourceType": "configmap", "configMap": r.made.Catalog, "displayName": "bundles of " + r.made.Package,
	})
	all := []*unstructured.Unstructured{catalog, source}
	if group != nil {
		all = append(all, group)
	}
	return append(all, r.object("operators.coreos.com/v1alpha1", "Subscription", r.made.Subscription, map[string]any{
		"source": r.made.Catalog, "sourceNamespace": r.Namespace, "name": r.made.Package, "channel": r.channel(),
	})), nil
}

// check refuses a namespace that does not exist, or that has the operator from elsewhere.
func (r *run) check(ctx context.Context) error {
	_, err := r.Client.Dynamic.Resource(namespaces).Get(ctx, r.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("the namespace %[1]s does not exist: kubectl create namespace %[1]s", r.Namespace)
	}
	if err != nil && !apierrors.IsForbidden(err) { // whoever may install there need not be allowed to read the namespace
		return fmt.Errorf("read the namespace %s: %w", r.Namespace, err)
	}
	for i := range r.state.Subscriptions {
		one := &r.state.Subscriptions[i]
		if one.Spec.Name == r.made.Package && one.Labels[change.LabelRun] != r.made.Package {
			return fmt.Errorf("the Subscription %s/%s installs the package %s from the catalog %s: remove it first, with `operon olm remove %s -n %s`, or use another namespace",
				r.Namespace, one.Name, r.made.Package, one.Spec.Source, one.Name, r.Namespace)
		}
		if one.Name == r.made.Subscription && one.Spec.Name != r.made.Package {
			return fmt.Errorf("the Subscription %s/%s is for another package, %s: use another namespace", r.Namespace, one.Name, one.Spec.Name)
		}
	}
	for i := range r.state.Catalogs {
		if one := &r.state.Catalogs[i]; one.Namespace == r.Namespace && one.Name == r.made.Catalog && one.Labels[change.LabelRun] != r.made.Package {
			return r.foreign("CatalogSource")
		}
	}
	if r.channel() == "" {
		return fmt.Errorf("%s names no channels: `operon bundle lint` says where to name them", r.made.CSV)
	}
	return nil
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// channel returns the channel of the Subscription, or "" if the bundle names none. All versions are in the channel of the first one, whatever they
// name: an entry replaces only entries of its own channel.
func (r *run) channel() string {
	for i := range r.state.Subscriptions {
		if one := &r.state.Subscriptions[i]; one.Name == r.made.Subscription {
			return one.Spec.Channel
		}
	}
	return cmp.Or(append([]string{r.Bundle.DefaultChannel}, r.Bundle.Channels...)...)
}

// object returns an object with the label of the package.
func (r *run) object(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != nil {
		object.Object["spec"] = spec
	}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(r.Namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{change.LabelRun: r.made.Package})
	return object
}

// refused is the error for an object that the API server did not accept.
func refused(object *unstructured.Unstructured, err error) error {
	return fmt.Errorf("apply %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
}
