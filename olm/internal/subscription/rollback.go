package subscription

import (
	"fmt"
	"slices"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/olm/resolve"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// maxRolledBack is how many versions a status remembers. The oldest ones are forgotten first.
const maxRolledBack = 20

// givenUp returns the versions that a Subscription does not install again: those in its status, and those that are being rolled back now.
// Without the annotation, and for a version that has another image in the catalog now, the status does not count: it is tried again.
func (n *namespace) givenUp(of *v1alpha1.Subscription) []v1alpha1.RolledBack {
	var all []v1alpha1.RolledBack
	if of.Annotations[v1alpha1.AnnotationRollback] == "true" {
		loaded := n.loaded[keyOf(of)]
		all = slices.DeleteFunc(slices.Clone(of.Status.RolledBack), func(one v1alpha1.RolledBack) bool {
			return loaded != nil && loaded.PackageOf(one.Name) != "" && loaded.Image(one.Name) != one.Image
		})
	}
	for _, plan := range n.plansOf(of) {
		for _, name := range plan.Spec.ClusterServiceVersionNames {
			csv := n.rolledBack[name]
			if csv == nil {
				continue
			}
			now := v1alpha1.RolledBack{Name: name, Image: imageIn(plan, name), Replaced: csv.Spec.Replaces, Message: csv.Status.Message}
			all = append(slices.DeleteFunc(all, func(one v1alpha1.RolledBack) bool { return one.Name == name }), now)
		}
	}
	return all[max(0, len(all)-maxRolledBack):]
}

// imageIn returns the image of a version in a plan, or an empty string.
func imageIn(plan *v1alpha1.InstallPlan, version string) string {
	for _, one := range plan.Status.BundleLookups {
		if one.Identifier == version {
			return one.Path
		}
	}
	return ""
}

// avoided returns the versions that must not be installed again, with the reason.
func (n *namespace) avoided(of *v1alpha1.Subscription) map[string]string {
	avoid := map[string]string{}
	for _, one := range n.givenUp(of) {
		avoid[one.Name] = fmt.Sprintf("%s was %s. It is installed again when the catalog has another image for it, or without the annotation %s",
			one.Name, one.Message, v1alpha1.AnnotationRollback)
	}
	return avoid
}

// isRolledBack reports whether the version of a plan is being rolled back. Its plan stays until it is gone, because it knows the image.
func (n *namespace) isRolledBack(plan *v1alpha1.InstallPlan) bool {
	return slices.ContainsFunc(plan.Spec.ClusterServiceVersionNames, func(name string) bool { return n.rolledBack[name] != nil })
}

// restore declares a plan that writes the objects of a version again, after a version that replaced it was rolled back and is gone: its plan
// may have changed them. The Deployments and permissions of a version do not need that, and its kinds stay as they are. It returns the names
// of the plans.
func (c *Composer) restore(of *v1alpha1.Subscription, n *namespace, outcome resolve.Outcome, out *operon.Composition) (names []string) {
	loaded := n.loaded[keyOf(of)]
	if loaded == nil || loaded.PackageOf(outcome.Installed) == "" {
		return nil // a plan that exists is kept as it is
	}
	for _, one := range n.givenUp(of) {
		if one.Replaced != outcome.Installed || n.rolledBack[one.Name] != nil {
			continue
		}
		source := keyOf(of).String()
		name := planName(of.Name, outcome.Installed, source, loaded.Image(outcome.Installed), "restores", one.Name)
		wanted := planOf(of.Namespace, name, map[string]string{installplan.AnnotationBundles: outcome.Installed + "=" + source, installplan.AnnotationRestores: one.Name})
		wanted.Spec.Generation = n.generation(of, name)
		out.Child(declared(wanted, of.Spec.Package, outcome.Installed, approvalOf(of)))
		names = append(names, name)
	}
	return names
}

// returns reports whether a version works again because the one that replaced it is rolled back.
func (n *namespace) returns(csv *v1alpha1.ClusterServiceVersion) bool {
	for _, one := range n.rolledBack {
		if one.Spec.Replaces == csv.Name && csv.DeletionTimestamp == nil {
			return true
		}
	}
	return false
}
