package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/removal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// LabelRun is on the objects with which `operon bundle run` installs a package; its value is the package.
const LabelRun = "operon.dev/bundle-run"

// Removal is what is removed with a Subscription, in this order. Its JSON is stable.
type Removal struct {
	Namespace string `json:"namespace"`
	// Name is the Subscription, or a version without one, perhaps that of a ClusterExtension.
	Name string `json:"name"`
	// DryRun means that nothing was removed.
	DryRun bool `json:"dryRun,omitempty"`
	// Removed are objects as KIND NAMESPACE/NAME.
	Removed []string `json:"removed"`
	// Kept are objects that stay, with the reason.
	Kept []string `json:"kept,omitempty"`

	// installers would install the versions again: Subscriptions, or a ClusterExtension.
	installers, resources, versions, definitions []*unstructured.Unstructured
	// catalogs are what is left of `operon bundle run`: a ConfigMap with a CatalogSource, and an OperatorGroup.
	catalogs []*unstructured.Unstructured
	owned    []string
	// runs are the Deployments, ReplicaSets and pods of the versions.
	runs []*unstructured.Unstructured
	// next are the versions that the Subscriptions had chosen. They may not have existed yet.
	next []string
	// known are all versions that existed. Those that are not removed stay.
	known map[types.UID]bool
	// running is false if the operator cannot remove finalizers of its custom resources.
	running bool
}

// Definitions returns the names of the CustomResourceDefinitions that are removed.
func (r *Removal) Definitions() []string {
	var names []string
	for _, one := range r.definitions {
		names = append(names, one.GetName())
	}
	return names
}

// Resources returns the number of custom resources that are removed.
func (r *Removal) Resources() int { return len(r.resources) }

// Plan finds out what is removed with a Subscription: its version, dependencies that nothing else needs, and, with definitions, its
// CustomResourceDefinitions with all their objects. A version without a Subscription can be named, too; its ClusterExtension goes with it.
func Plan(ctx context.Context, client *kube.Client, namespace, name string, definitions bool) (*Removal, error) {
	state, err := olm.Read(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	if len(state.Lacks) > 0 {
		return nil, fmt.Errorf("what depends on the operator is not known: %s", state.Lacks[0])
	}
	r := &Removal{Namespace: namespace, Name: name, running: true, known: map[types.UID]bool{}}
	for i := range state.Versions {
		r.known[state.Versions[i].UID] = true
	}
	if err := r.choose(ctx, client, state, name); err != nil {
		return nil, err
	}
	if err := r.workloads(ctx, client); err != nil { // nothing is removed without the permission to wait for them
		return nil, err
	}
	r.runs = nil
	if err := r.define(ctx, client, definitions); err != nil {
		return nil, err
	}
	if err := r.run(ctx, client, state); err != nil {
		return nil, err
	}
	r.list()
	return r, nil
}

// list lists what is removed.
func (r *Removal) list() {
	r.Removed = []string{}
	for _, one := range slices.Concat(r.resources, r.installers, r.versions, r.catalogs, r.definitions) {
		r.Removed = append(r.Removed, tree.Address(one))
	}
}

// choose chooses the Subscriptions and versions.
func (r *Removal) choose(ctx context.Context, client *kube.Client, state *olm.State, name string) error {
	of := state.Subscription(r.Namespace, name)
	if of == nil {
		return r.version(ctx, client, state, name)
	}
	gone, chosen := []*olm.Subscription{of}, []*olm.Version{}
	for _, one := range state.Dependencies(of) {
		if one.NeededBy != "" {
			r.Kept = append(r.Kept, fmt.Sprintf("Subscription %s/%s, because %s may need it", r.Namespace, one.Name, one.NeededBy))
			continue
		}
		gone = append(gone, one.Subscription)
	}
	for _, one := range gone {
		r.installers = append(r.installers, named("Subscription", &one.ObjectMeta))
		r.next = append(r.next, one.Status.CurrentCSV)
		works, some := false, false
		for i := range state.Versions { // two during an upgrade
			if version := &state.Versions[i]; state.SubscriptionOf(version) == one {
				r.add(version)
				chosen = append(chosen, version)
				works, some = works || worksIn(version.Status.Phase), true
			}
		}
		r.running = r.running && (works || !some)
	}
	r.addRelated(state, chosen)
	return nil
}

// addRelated adds the versions of upgrades that did not succeed and that no Subscription names: the version that a chosen one replaces, which
// would work again, and one that was rolled back to a chosen one.
func (r *Removal) addRelated(state *olm.State, chosen []*olm.Version) {
	for at := 0; at < len(chosen); at++ {
		for i := range state.Versions {
			one := &state.Versions[i]
			rolledBack := one.Status.Reason == "RolledBack" && one.Spec.Replaces == chosen[at].Name
			if (rolledBack || chosen[at].Spec.Replaces == one.Name) && state.SubscriptionOf(one) == nil && !r.removes(one) {
				r.add(one)
				chosen = append(chosen, one)
			}
		}
	}
}

// version chooses a version without a Subscription.
func (r *Removal) version(ctx context.Context, client *kube.Client, state *olm.State, name string) error {
	answer, err := state.Why(name)
	if err != nil {
		return err
	}
	for i := range state.Versions {
		one := &state.Versions[i]
		if one.Name != name {
			continue
		}
		if by := state.SubscriptionOf(one); by != nil {
			return fmt.Errorf("the Subscription %s would install %s again: remove the Subscription", by.Name, name)
		}
		r.add(one)
		r.running = worksIn(one.Status.Phase)
		return r.extension(ctx, client, one)
	}
	return fmt.Errorf("%s %s cannot be removed: name a Subscription", answer.Kind, name)
}

// extension adds the ClusterExtension that installed a version, if one did: what a version says about that could be forged.
func (r *Removal) extension(ctx context.Context, client *kube.Client, of *olm.Version) error {
	by := of.ExtensionOwner()
	if by == nil {
		return nil
	}
	found, err := client.Dynamic.Resource(olm.Extensions).Get(ctx, by.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return errors.New(olm.Missing("get", olm.Extensions, "", by.Name))
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read ClusterExtension %s: %w", by.Name, err)
	}
	if found.GetUID() == by.UID && namespaceOf(found) == of.Namespace {
		r.installers = append(r.installers, found)
	}
	return nil
}

// namespaceOf returns the namespace in which a ClusterExtension installs, or an empty string.
func namespaceOf(extension *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(extension.Object, "spec", "namespace")
	return name
}

func (r *Removal) add(version *olm.Version) {
	r.versions = append(r.versions, named("ClusterServiceVersion", &version.ObjectMeta))
	for _, api := range version.Spec.Definitions.Owned {
		r.owned = append(r.owned, api.Name)
	}
}

// worksIn reports whether the operator of a version runs in a phase.
func worksIn(phase string) bool { return phase == olm.PhaseSucceeded || phase == olm.PhaseReplacing }

// named returns an object by its name.
func named(kind string, of *metav1.ObjectMeta) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(olm.Versions.GroupVersion().WithKind(kind))
	object.SetNamespace(of.Namespace)
	object.SetName(of.Name)
	object.SetUID(of.UID)
	return object
}

// define adds the CustomResourceDefinitions, unless another operator has them.
func (r *Removal) define(ctx context.Context, client *kube.Client, remove bool) error {
	var others map[string]string
	if remove {
		var err error
		if others, err = r.others(ctx, client); err != nil {
			return err
		}
	}
	slices.Sort(r.owned)
	for _, name := range slices.Compact(r.owned) {
		switch by := others[name]; {
		case !remove:
			r.Kept = append(r.Kept, fmt.Sprintf("CustomResourceDefinition %s and its objects, without --delete-crds", name))
		case reserved(name):
			r.keep(name, "its API group belongs to Kubernetes or to the lifecycle manager")
		case by != "":
			r.keep(name, by+" has or needs it")
		default:
			if err := r.definition(ctx, client, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// others returns the versions that have or need CustomResourceDefinitions and are not removed, by the names of these.
func (r *Removal) others(ctx context.Context, client *kube.Client) (map[string]string, error) {
	all, err := olm.Read(ctx, client, metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	if len(all.Lacks) > 0 {
		return nil, fmt.Errorf("whether another operator has the CustomResourceDefinitions is not known: %s", all.Lacks[0])
	}
	others := map[string]string{}
	for i := range all.Versions {
		one := &all.Versions[i]
		if r.removes(one) {
			continue
		}
		for _, api := range slices.Concat(one.Spec.Definitions.Owned, one.Spec.Definitions.Required) {
			others[api.Name] = one.Namespace + "/" + one.Name
		}
	}
	return others, nil
}

// removes reports whether a version is one of those that are removed.
func (r *Removal) removes(version *olm.Version) bool {
	return slices.ContainsFunc(r.versions, func(gone *unstructured.Unstructured) bool { return gone.GetUID() == version.UID })
}

// keep records why a CustomResourceDefinition stays.
func (r *Removal) keep(definition, why string) {
	r.Kept = append(r.Kept, fmt.Sprintf("CustomResourceDefinition %s, because %s", definition, why))
}

// fromBundle reports whether a lifecycle manager wrote a CustomResourceDefinition. A version that was applied by hand can name any.
func fromBundle(crd *unstructured.Unstructured) bool {
	for key := range crd.GetAnnotations() {
		if key == contents.AnnotationDigest || strings.HasPrefix(key, "operatorframework.io/installed-alongside-") { // the second is of OLM
			return true
		}
	}
	return false
}

// reserved reports whether a CustomResourceDefinition cannot be one of an operator, whatever its version says.
func reserved(name string) bool {
	_, group, _ := strings.Cut(name, ".")
	return render.Reserved(group)
}

// definition adds a CustomResourceDefinition and its objects.
func (r *Removal) definition(ctx context.Context, client *kube.Client, name string) error {
	found, err := client.Dynamic.Resource(kube.CRDs).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return errors.New(olm.Missing("get", kube.CRDs, "", name))
	case err != nil:
		return fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
	}
	if !fromBundle(found) {
		r.keep(name, "it was not installed from a bundle")
		return nil
	}
	crd, err := kube.ReadCRD(found)
	if err != nil {
		return err
	}
	r.definitions = append(r.definitions, found)
	client.Refresh() // the kind may be newer than the connection
	resource, ok := crd.Readable()
	if !ok {
		return nil
	}
	objects, err := client.List(ctx, resource, metav1.NamespaceAll, "")
	if apierrors.IsForbidden(err) {
		return errors.New(olm.Missing("list", resource, "", ""))
	}
	r.resources = append(r.resources, objects...)
	return err
}

// Check returns an error if custom resources would wait forever for an operator that does not work.
func (r *Removal) Check() error {
	held := slices.IndexFunc(r.resources, removal.Held)
	if r.running || held < 0 {
		return nil
	}
	return fmt.Errorf("%s has the finalizer %s, and the operator that removes it does not work: `operon olm explain %s -n %s` says why", tree.Address(r.resources[held]),
		removal.Foreign(r.resources[held])[0], r.Name, r.Namespace)
}

// Run removes everything, and tells each object that is gone. Custom resources are removed while the operator works, and can remove their
// finalizers. Removed and Kept have what appeared since Plan, too.
func (r *Removal) Run(ctx context.Context, client *kube.Client, tell func(string)) error {
	remover := &removal.Remover{
		Client:  client,
		Gone:    func(object *unstructured.Unstructured) { tell("removed " + tree.Address(object)) },
		Waiting: func(left []*unstructured.Unstructured) { tell("waiting for\n" + removal.Lines(left)) },
		// The InstallPlans of a Subscription are gone before it, so that none of them writes a version later.
		Before: func(object *unstructured.Unstructured) bool {
			return object.GroupVersionKind() != olm.Subscriptions.GroupVersion().WithKind("Subscription")
		},
	}
	if err := remover.Remove(ctx, r.resources); err != nil {
		return err
	}
	if err := r.workloads(ctx, client); err != nil {
		return err
	}
	if err := remover.Remove(ctx, r.installers); err != nil {
		return err
	}
	if err := r.catchUp(ctx, client); err != nil {
		return err
	}
	if err := remover.Remove(ctx, r.versions); err != nil {
		return err
	}
	if err := r.workloads(ctx, client); err != nil {
		return err
	}
	if err := remover.WaitGone(ctx, r.runs); err != nil {
		return err
	}
	if err := remover.Remove(ctx, r.catalogs); err != nil {
		return err
	}
	if err := r.keepNeeded(ctx, client); err != nil {
		return err
	}
	r.list()
	return remover.Remove(ctx, r.definitions)
}

// catchUp adds the versions that the installers wrote after Plan, with what runs for them.
func (r *Removal) catchUp(ctx context.Context, client *kube.Client) error {
	state, err := olm.Read(ctx, client, r.Namespace)
	if err != nil {
		return err
	}
	for i := range state.Versions {
		one := &state.Versions[i]
		replaces := slices.ContainsFunc(r.versions, func(gone *unstructured.Unstructured) bool { return gone.GetName() == one.Spec.Replaces })
		if r.known[one.UID] || state.SubscriptionOf(one) != nil || !replaces && !slices.Contains(r.next, one.Name) {
			continue
		}
		for _, api := range one.Spec.Definitions.Owned {
			if !slices.Contains(r.owned, api.Name) {
				r.owned = append(r.owned, api.Name)
				r.keep(api.Name, one.Name+" was installed during the removal")
			}
		}
		r.add(one)
	}
	return r.workloads(ctx, client)
}

// workloads updates what runs for the versions: their Deployments, with the ReplicaSets and pods of these. A Deployment that another version has
// taken over is not waited for any more.
func (r *Removal) workloads(ctx context.Context, client *kube.Client) error {
	var versions []string
	for _, one := range r.versions {
		versions = append(versions, one.GetName())
	}
	for _, kind := range []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "replicasets"}, {Version: "v1", Resource: "pods"},
	} {
		all, err := client.List(ctx, kind, r.Namespace, "")
		if apierrors.IsForbidden(err) {
			return errors.New(olm.Missing("list", kind, r.Namespace, ""))
		}
		if err != nil {
			return err
		}
		for _, one := range all {
			r.runs = slices.DeleteFunc(r.runs, func(was *unstructured.Unstructured) bool { return was.GetUID() == one.GetUID() })
			owner := metav1.GetControllerOf(one)
			owned := owner != nil && slices.ContainsFunc(r.runs, func(by *unstructured.Unstructured) bool { return by.GetUID() == owner.UID })
			if owned || olm.IsOwned(one.GetLabels(), r.Namespace, versions...) {
				r.runs = append(r.runs, one)
			}
		}
	}
	return nil
}

// keepNeeded keeps the CustomResourceDefinitions that another version has or needs by now.
func (r *Removal) keepNeeded(ctx context.Context, client *kube.Client) error {
	if len(r.definitions) == 0 {
		return nil
	}
	others, err := r.others(ctx, client)
	if err != nil {
		return err
	}
	r.definitions = slices.DeleteFunc(r.definitions, func(one *unstructured.Unstructured) bool {
		by := others[one.GetName()]
		if by != "" {
			r.keep(one.GetName(), by+" has or needs it")
		}
		return by != ""
	})
	return nil
}
