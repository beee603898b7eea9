package bundletest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/olm"
)

// Kinds of the manager that the test creates.
var (
	subscriptionKind = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "Subscription"}
	catalogKind      = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "CatalogSource"}
	groupKind        = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1", Kind: "OperatorGroup"}
)

// objectName is the name of the Subscription, the catalog and the group.
const objectName = "bundle-test"

// otherNamespace returns a namespace that is not that of the operator.
func (t *test) otherNamespace() string { return "other-" + t.namespace }

// target returns the namespace of the samples.
func (t *test) target() string {
	if t.Mode == bundle.SingleNamespace {
		return t.otherNamespace()
	}
	return t.namespace
}

// targets returns the namespaces of the OperatorGroup, none for all of them.
func (t *test) targets() []any {
	switch t.Mode {
	case bundle.AllNamespaces:
		return nil
	case bundle.MultiNamespace:
		return []any{t.namespace, t.otherNamespace()}
	}
	return []any{t.target()}
}

// install installs the first version, and starts its operator.
func (t *test) install(ctx context.Context) (Stage, error) {
	first := t.first()
	stage := Stage{Version: first.CSV.Name}
	stage.Notes = t.notLoaded(first)
	if err := t.prepare(ctx, first); err != nil {
		return stage, err
	}
	spec := map[string]any{"source": objectName, "sourceNamespace": t.namespace, "name": t.packageName(), "channel": channel, "installPlanApproval": "Automatic"}
	if err := t.apply(ctx, subscriptionKind, spec); err != nil {
		return stage, err
	}
	if err := t.await(ctx, t.installed(ctx, first)); err != nil {
		return stage, err
	}
	notes, err := t.startOperator(ctx, first)
	stage.Notes = append(stage.Notes, notes...)
	return stage, err
}

// first returns the version that is installed first.
func (t *test) first() *version {
	if t.previous != nil {
		return t.previous
	}
	return t.bundle
}

// prepare creates the namespaces with an OperatorGroup and a catalog that has only the first version.
func (t *test) prepare(ctx context.Context, first *version) error {
	namespaces := []string{t.namespace}
	if t.Mode == bundle.SingleNamespace || t.Mode == bundle.MultiNamespace {
		namespaces = append(namespaces, t.otherNamespace())
	}
	for _, name := range namespaces {
		if err := t.applyObject(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", name, nil); err != nil {
			return err
		}
	}
	spec := map[string]any{}
	if targets := t.targets(); targets != nil {
		spec["targetNamespaces"] = targets
	}
	if err := t.apply(ctx, groupKind, spec); err != nil {
		return err
	}
	if err := t.offer(ctx, first); err != nil {
		return err
	}
	var err error
	t.before, err = t.list(ctx)
	return err
}

// offer makes the catalog one of these versions, the oldest first.
func (t *test) offer(ctx context.Context, versions ...*version) error {
	made, err := t.catalog(versions...)
	if err != nil {
		return err
	}
	image, err := t.registry.push(ctx, fmt.Sprintf("catalog:%d", len(versions)), made)
	if err != nil {
		return err
	}
	return t.apply(ctx, catalogKind, map[string]any{"sourceType": "grpc", "image": image})
}

func (t *test) apply(ctx context.Context, kind schema.GroupVersionKind, spec map[string]any) error {
	return t.applyObject(ctx, kind, t.namespace, objectName, map[string]any{"spec": spec})
}

func (t *test) applyObject(ctx context.Context, kind schema.GroupVersionKind, namespace, name string, fields map[string]any) error {
	object := &unstructured.Unstructured{Object: maps.Clone(fields)}
	if object.Object == nil {
		object.Object = map[string]any{}
	}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	_, err := t.client.Apply(ctx, object)
	return err
}

// final are the reasons of a failed resolution that do not change while the catalog stays the same.
var final = []string{"Unsatisfiable", "UnusableBundles", "InvalidChannel", "BundleNotFound"}

// installed waits until a version is installed, and nothing of the version before is left.
func (t *test) installed(ctx context.Context, v *version) look {
	return func(time.Duration) (bool, string, error) {
		state, err := olm.Read(ctx, t.client, t.namespace)
		if err == nil {
			err = state.ReadWorkloads(ctx, t.client)
		}
		if err != nil {
			return false, "", err
		}
		of := state.Subscription(t.namespace, objectName)
		if of == nil {
			return false, "", errors.New("the Subscription of the test was deleted")
		}
		answer, err := state.Why(objectName)
		if err != nil {
			return false, "", err
		}
		current := state.Installed(of)
		if current != nil && current.Name == v.CSV.Name && current.Status.Phase == olm.PhaseSucceeded {
			if old := state.Replaced(current); old != nil {
				return false, "the manager deletes " + old.Name, nil
			}
			return true, "", nil
		}
		wrong := hopeless(state, of)
		if wrong == "" {
			wrong, err = t.missing(ctx, state, v)
		}
		if err != nil {
			return false, "", err
		}
		if wrong != "" {
			return false, "", errors.New(wrong)
		}
		return false, answer.Why, nil
	}
}

// hopeless returns why the Subscription will not get its version, or "".
func hopeless(state *olm.State, of *olm.Subscription) string {
	for _, condition := range of.Status.Conditions {
		if condition.Type == "ResolutionFailed" && condition.Status == metav1.ConditionTrue && slices.Contains(final, condition.Reason) {
			return condition.Message
		}
	}
	for i := range state.Plans {
		if plan := &state.Plans[i]; plan.Status.Phase == olm.PlanFailed && plan.Status.Message != "" {
			return plan.Status.Message
		}
	}
	return ""
}

// missing returns the requirements of a version that are not met although all its objects were written, or "". It returns them only if
// waiting cannot help: until the manager has seen an object, it reports that it does not exist.
func (t *test) missing(ctx context.Context, state *olm.State, v *version) (string, error) {
	for i := range state.Versions {
		found := &state.Versions[i]
		if found.Name != v.CSV.Name {
			continue
		}
		if found.Status.Phase == olm.PhaseFailed {
			return fmt.Sprintf("%s is Failed: %s: %s", found.Name, found.Status.Reason, found.Status.Message), nil
		}
		if found.Status.Phase != olm.PhasePending || found.Status.Reason != "RequirementsNotMet" || !written(state, v) {
			return "", nil
		}
		for _, one := range found.Status.RequirementStatus {
			lacks, err := t.lacks(ctx, one)
			if err != nil {
				return "", err
			}
			if lacks {
				return "requirements are not met: " + strings.Join(unmetOf(found), "; "), nil
			}
		}
	}
	return "", nil
}

// lacks reports whether the cluster does not have what a requirement is about, whatever the manager has seen of it: a newer version of
// Kubernetes, or a CustomResourceDefinition that no other operator provides.
func (t *test) lacks(ctx context.Context, one olm.Requirement) (bool, error) {
	switch {
	case met(one):
		return false, nil
	case one.Kind == "ClusterServiceVersion":
		return true, nil
	case one.Kind != "CustomResourceDefinition":
		return false, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: one.Group, Version: "v1", Kind: one.Kind})
	object.SetName(one.Name)
	found, err := t.client.Get(ctx, object)
	return found == nil, err
}

func met(one olm.Requirement) bool {
	return one.Status == "Present" || one.Status == "Satisfied" || one.Status == "DeploymentFound"
}

// written reports whether all objects of a version and of what it depends on were written.
func written(state *olm.State, v *version) bool {
	ours := func(plan olm.InstallPlan) bool {
		return slices.Contains(plan.Spec.ClusterServiceVersionNames, v.CSV.Name)
	}
	open := func(plan olm.InstallPlan) bool { return plan.Status.Phase != olm.PlanComplete }
	waits := func(of olm.Subscription) bool { return of.Status.InstalledCSV == "" }
	return slices.ContainsFunc(state.Plans, ours) && !slices.ContainsFunc(state.Plans, open) && !slices.ContainsFunc(state.Subscriptions, waits)
}

func unmetOf(found *olm.Version) []string {
	var all []string
	for _, one := range found.Status.RequirementStatus {
		if met(one) {
			continue
		}
		line := fmt.Sprintf("%s %s: %s", one.Kind, one.Name, one.Status)
		if one.Message != "" {
			line += ", " + one.Message
		}
		all = append(all, line)
	}
	if len(all) == 0 {
		return []string{found.Status.Message}
	}
	return all
}

// leads reports whether an author says that a version can be upgraded to another one.
func leads(from, to *version) bool {
	spec := to.CSV.Spec
	if spec.Replaces == from.CSV.Name || slices.Contains(spec.Skips, from.CSV.Name) {
		return true
	}
	within, err := semver.ParseRange(to.CSV.Annotations["olm.skipRange"])
	if err != nil {
		return false
	}
	version, err := semver.Parse(from.CSV.Spec.Version)
	return err == nil && within(version)
}
