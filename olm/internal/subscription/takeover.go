package subscription

import (
	"slices"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// conditionsOfOLM are the types of conditions that only the Operator Lifecycle Manager (OLM) sets.
var conditionsOfOLM = []string{"InstallPlanMissing", "BundleUnpacking", "BundleUnpackFailed"}

// isForeign reports whether another lifecycle manager has installed a version from a bundle: it has properties, which plans write, and no plan
// of this manager has granted its permissions.
func isForeign(csv *v1alpha1.ClusterServiceVersion) bool {
	return csv.Status.PermissionsDigest == "" && csv.Annotations[contents.AnnotationProperties] != "" && csv.Status.Phase == v1alpha1.PhaseSucceeded
}

// takeOver declares a plan for an installed version of OLM that grants its permissions, if they are those of its bundle. Nothing new is installed,
// so the plan needs no approval. If the catalog does not have the version, the operator keeps the permissions that OLM granted. It returns the
// name of the plan, if there is one.
func (c *Composer) takeOver(of *v1alpha1.Subscription, n *namespace, installed string, out *operon.Composition) []string {
	loaded := n.loaded[keyOf(of)]
	if n.foreign[installed] == nil || loaded == nil || loaded.PackageOf(installed) == "" {
		return nil
	}
	for _, one := range n.plansOf(of) {
		if one.Annotations[installplan.AnnotationTakesOver] == "" && slices.Contains(one.Spec.ClusterServiceVersionNames, installed) {
			return nil // it is this manager that installs the version
		}
	}
	source := keyOf(of).String()
	name := planName(of.Name, installed, source, loaded.Image(installed), "takes-over")
	wanted := planOf(of.Namespace, name, map[string]string{installplan.AnnotationBundles: installed + "=" + source, installplan.AnnotationTakesOver: "true"})
	wanted.Spec.Generation = n.generation(of, name)
	out.Child(declared(wanted, of.Spec.Package, installed, v1alpha1.Automatic))
	return []string{name}
}
