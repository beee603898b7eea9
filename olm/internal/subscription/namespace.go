package subscription

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/resolve"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// namespace is what a resolution needs to know about a namespace.
type namespace struct {
	problem resolve.Problem
	health  []v1alpha1.CatalogHealth
	loaded  map[types.NamespacedName]*catalogs.Loaded
	// catalogs are the states of all catalogs.
	catalogs []string
	plans    []v1alpha1.InstallPlan
	// pending are the versions that exist and are not installed yet, by the Subscription that installs them.
	pending map[string]string
	// rolledBack are the versions that exist and were given up, by name.
	rolledBack map[string]*v1alpha1.ClusterServiceVersion
	// exist are the versions that exist, by name, also those that are being deleted.
	exist map[string]*v1alpha1.ClusterServiceVersion
	// foreign are the versions that another lifecycle manager has installed, by name. Their permissions are not granted by a plan yet.
	foreign map[string]*v1alpha1.ClusterServiceVersion
	// loading means that this manager has not read a catalog yet that an earlier one has read. Its status need not change when that is done.
	loading bool
}

// namespaceOf reads the Subscriptions, versions and catalogs of a namespace.
func (c *Composer) namespaceOf(ctx context.Context, name string, out *operon.Composition) (*namespace, error) {
	var subscriptions v1alpha1.SubscriptionList
	var csvs v1alpha1.ClusterServiceVersionList
	var sources v1alpha1.CatalogSourceList
	var plans v1alpha1.InstallPlanList
	for _, list := range []client.ObjectList{&subscriptions, &csvs, &plans} {
		if err := out.List(ctx, list, nil, client.InNamespace(name), operon.Everything, operon.SharedCache); err != nil {
			return nil, err
		}
	}
	// A manager that works in some namespaces does not have the permission to read others, such as that of the global catalogs.
	if err := out.List(ctx, &sources, nil, client.InNamespace(metav1.NamespaceAll), operon.Everything); err != nil {
		return nil, err
	}
	n := &namespace{problem: resolve.Problem{Namespace: name}, loaded: map[types.NamespacedName]*catalogs.Loaded{}, pending: map[string]string{}, rolledBack: map[string]*v1alpha1.ClusterServiceVersion{}, foreign: map[string]*v1alpha1.ClusterServiceVersion{}, exist: map[string]*v1alpha1.ClusterServiceVersion{}}
	csvs.Items = slices.DeleteFunc(csvs.Items, func(one v1alpha1.ClusterServiceVersion) bool { return one.Copied() })
	n.plans = plans.Items
	running := map[string]bool{} // by name, without versions that step back
	for i := range csvs.Items {
		one := &csvs.Items[i]
		n.exist[one.Name] = one
		if phase.RolledBack(one) {
			n.rolledBack[one.Name] = one
		}
	}
	for i := range csvs.Items {
		if one := &csvs.Items[i]; stays(one) || n.returns(one) {
			running[one.Name] = true
			if isForeign(one) {
				n.foreign[one.Name] = one
			}
		}
	}
	for i := range sources.Items {
		if one := &sources.Items[i]; one.Namespace == name || one.Namespace == c.Global {
			n.add(one, c.Catalogs.Of(one))
		}
	}
	owners := map[string]string{}
	for i := range subscriptions.Items {
		one := &subscriptions.Items[i]
		if one.DeletionTimestamp != nil {
			continue
		}
		n.problem.Subscriptions = append(n.problem.Subscriptions, resolve.Subscription{
			Name: one.Name, Package: one.Spec.Package, Channel: one.Spec.Channel, Catalog: keyOf(one),
			StartingCSV: one.Spec.StartingCSV, InstalledCSV: n.versions(one, running, owners), Avoid: n.avoided(one),
		})
	}
	for i := range csvs.Items {
		if one := &csvs.Items[i]; running[one.Name] {
			n.problem.Installed = append(n.problem.Installed, n.installed(one, owners[one.Name]))
		}
	}
	return n, nil
}

// stays reports whether a version neither steps back nor is deleted.
func stays(csv *v1alpha1.ClusterServiceVersion) bool {
	return csv.DeletionTimestamp == nil && csv.Status.Phase != v1alpha1.PhaseReplacing && csv.Status.Phase != v1alpha1.PhaseDeleting
}

// versions records which versions are those of a Subscription, and returns the installed one. A version whose predecessor is gone, or steps
// back for it, is installed. Until then it is pending.
func (n *namespace) versions(of *v1alpha1.Subscription, running map[string]bool, owners map[string]string) string {
	installed := of.Status.InstalledCSV
	versions := []string{installed, of.Status.CurrentCSV}
	for _, one := range n.plansOf(of) {
		versions = append(versions, one.Spec.ClusterServiceVersionNames...)
	}
	for _, version := range versions {
		if given := n.rolledBack[version]; given != nil {
			versions = append(versions, given.Spec.Replaces)
		}
	}
	for _, version := range versions {
		switch {
		case version == "" || !running[version] || version == installed:
		case running[installed]:
			n.pending[of.Name] = version
		default:
			installed = version
		}
		if version != "" {
			owners[version] = of.Name
		}
	}
	return installed
}

// keyOf returns the name of the catalog of a Subscription.
func keyOf(of *v1alpha1.Subscription) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(of.Spec.CatalogSourceNamespace, of.Namespace), Name: of.Spec.CatalogSource}
}

// add adds a catalog. What was read of it stays in use while it cannot be read again.
func (n *namespace) add(one *v1alpha1.CatalogSource, loaded *catalogs.Loaded) {
	key := client.ObjectKeyFromObject(one)
	found := resolve.Catalog{NamespacedName: key, Priority: one.Spec.Priority}
	state := one.Status.ConnectionState
	ready := state != nil && state.LastObservedState == v1alpha1.StateReady
	n.loading = n.loading || loaded == nil && ready
	digest := ""
	switch {
	case state == nil || loaded == nil && ready:
		found.Unavailable = "it was not read yet"
	case ready, state.LastObservedState == v1alpha1.StateTransientFailure && loaded != nil && loaded.IsOf(one):
		found.Source, digest = loaded.Source, loaded.Digest
		n.loaded[key] = loaded
	default:
		found.Unavailable = cmp.Or(one.Status.Message, "it was not read yet")
	}
	n.catalogs = append(n.catalogs, fmt.Sprintf("%s@%s %d %s", key, digest, found.Priority, found.Unavailable))
	n.problem.Catalogs = append(n.problem.Catalogs, found)
	n.health = append(n.health, v1alpha1.CatalogHealth{
		CatalogSourceRef: reference(one, "CatalogSource"), Healthy: ready && loaded != nil, LastUpdated: lastConnect(one),
	})
}

// installed returns a version of the namespace with its properties: those that its plan wrote, or else what follows from its kinds. A version
// that was applied by hand has the package that a catalog says.
func (n *namespace) installed(csv *v1alpha1.ClusterServiceVersion, owner string) resolve.Installed {
	found := resolve.Installed{Bundle: resolve.Bundle{Name: csv.Name, Version: csv.Spec.Version}, Package: contents.PackageOf(csv), Subscription: owner}
	var written struct {
		Properties []resolve.Property `json:"properties"`
	}
	if err := json.Unmarshal([]byte(csv.Annotations[contents.AnnotationProperties]), &written); err == nil {
		found.Properties = written.Properties
	}
	if found.Package == "" {
		found.Package = n.packageOf(csv.Name)
		for _, crd := range csv.Spec.CustomResourceDefinitions.Owned {
			found.Properties = append(found.Properties, provides(crd))
		}
	}
	return found
}

// packageOf returns the package that has a version in one of the catalogs, or an empty string.
func (n *namespace) packageOf(version string) string {
	for _, loaded := range n.loaded {
		if of := loaded.PackageOf(version); of != "" {
			return of
		}
	}
	return ""
}

// provides returns the property of a kind that a version provides.
func provides(crd v1alpha1.CRDDescription) resolve.Property {
	_, group, _ := strings.Cut(crd.Name, ".")
	value, err := json.Marshal(map[string]string{"group": group, "version": crd.Version, "kind": crd.Kind})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return resolve.Property{Type: "olm.gvk", Value: value}
}

// resolved is the result for a state of a namespace, and when it was used last.
type resolved struct {
	digest string
	result resolve.Result
	used   time.Time
}

// resolve resolves a namespace, once for each state: all its Subscriptions ask for the same.
func (c *Composer) resolve(n *namespace) (resolve.Result, error) {
	state, err := json.Marshal([]any{n.problem.Subscriptions, n.problem.Installed, n.catalogs, n.health, n.pending})
	if err != nil {
		return resolve.Result{}, fmt.Errorf("encode the state of the namespace %s: %w", n.problem.Namespace, err)
	}
	sum := sha256.Sum256(state)
	digest := hex.EncodeToString(sum[:])
	if result, known := c.known(n.problem.Namespace, digest); known {
		return result, nil
	}
	result, err := resolve.Resolve(n.problem)
	if err != nil {
		return result, fmt.Errorf("resolve the namespace %s: %w", n.problem.Namespace, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil {
		c.results = map[string]resolved{}
	}
	now := c.Clock.Now()
	maps.DeleteFunc(c.results, func(_ string, one resolved) bool { return now.Sub(one.used) > timing.keepResults })
	c.results[n.problem.Namespace] = resolved{digest, result, now}
	return result, nil
}

// known returns the result for a state of a namespace, if it was resolved before.
func (c *Composer) known(namespace, digest string) (resolve.Result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.results[namespace]
	if !ok || last.digest != digest {
		return resolve.Result{}, false
	}
	last.used = c.Clock.Now()
	c.results[namespace] = last
	return last.result, true
}
