package extension

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
)

// versions are the versions of an operator that a ClusterExtension installed.
type versions struct {
	all []*v1alpha1.ClusterServiceVersion
	// tip is the newest one, which no other one replaces, or nil.
	tip *v1alpha1.ClusterServiceVersion
	// installed is the newest one that has worked, or nil.
	installed *v1alpha1.ClusterServiceVersion
}

// versionsOf finds the versions that belong to a ClusterExtension.
func versionsOf(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition) (versions, error) {
	var list v1alpha1.ClusterServiceVersionList
	if err := out.List(ctx, &list, nil, client.InNamespace(metav1.NamespaceAll), operon.Everything); err != nil { // the manager caches all of them anyway
		return versions{}, err
	}
	var found versions
	for i := range list.Items {
		if one := &list.Items[i]; belongs(one, of) {
			found.all = append(found.all, one)
		}
	}
	for _, one := range found.all {
		replaced := slices.ContainsFunc(found.all, func(other *v1alpha1.ClusterServiceVersion) bool {
			return other.DeletionTimestamp == nil && phase.Replaces(other, one)
		})
		if one.DeletionTimestamp == nil && !replaced {
			found.tip = one
		}
	}
	for _, one := range found.all {
		if found.tip != nil && one.DeletionTimestamp == nil && one.Name == found.tip.Spec.Replaces {
			found.installed = one
		}
	}
	if found.tip != nil && worked(found.tip, of) {
		found.installed = found.tip
	}
	return found, nil
}

// belongs reports whether a ClusterExtension installed a version.
func belongs(csv *v1alpha1.ClusterServiceVersion, of *v1.ClusterExtension) bool {
	return csv.Namespace == of.Spec.Namespace &&
		slices.ContainsFunc(csv.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == of.UID })
}

// worked reports whether a version was installed completely, even if it does not work now.
func worked(csv *v1alpha1.ClusterServiceVersion, of *v1.ClusterExtension) bool {
	return of.Status.Install != nil && of.Status.Install.Bundle.Name == csv.Name || phase.Worked(&csv.Status)
}

// settled reports whether one version is installed, and no other one exists.
func (v versions) settled() bool { return v.tip != nil && v.tip == v.installed && len(v.all) == 1 }

// continues reports whether the upgrade to the newest version goes on although the catalogs offer another one now: the newest version was withdrawn or
// deprecated meanwhile, or has a successor. All its objects are written, so that kinds and stored objects may already be those of the newest
// version, and to go back is a decision of the user, who has not changed what was asked for. A version that failed is given up.
func (v versions) continues(filter *v1.CatalogFilter, of *v1alpha1.InstallPlan) bool {
	return v.installed != nil && v.tip.Status.Phase != v1alpha1.PhaseFailed && of.Status.Phase == v1alpha1.PlanComplete && of.Annotations[annotationAsked] == digestOf(filter)
}

// annotationAsked is on the InstallPlans of ClusterExtensions: a digest of what the ClusterExtension asked for.
const annotationAsked = "olm.asked-for"

// digestOf returns a digest of what a ClusterExtension asks for.
func digestOf(filter *v1.CatalogFilter) string {
	content, err := json.Marshal(filter)
	if err != nil {
		panic(err) // it was read from JSON
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// keeps reports whether the installed version stays if no catalog offers any: nothing else is being installed or asked for.
func (v versions) keeps(wanted string) bool {
	return v.installed != nil && v.tip == v.installed && (wanted == "" || wanted == v.installed.Spec.Version)
}

// base returns the version whose successors can be installed, or nil.
func (v versions) base() (*version, error) {
	if v.installed == nil {
		return nil, nil
	}
	number, err := semver.StrictNewVersion(v.installed.Spec.Version)
	if err != nil {
		return nil, retry("the installed %s has the version %q, which is not a semantic version", v.installed.Name, v.installed.Spec.Version)
	}
	return &version{v.installed.Name, number}, nil
}

// offers returns the package in all catalogs that a ClusterExtension may use, and whether any catalog is selected. One catalog that cannot be
// read stops all: another one may have the package, too, but with a lower priority.
func (c *Composer) offers(ctx context.Context, filter *v1.CatalogFilter, out *operon.Composition) (found []offer, selected bool, err error) {
	selector, err := metav1.LabelSelectorAsSelector(filter.Selector)
	if err != nil {
		return nil, false, refusal{reason: v1.ReasonBlocked, message: fmt.Sprintf("spec.source.catalog.selector: %v", err)}
	}
	var list v1.ClusterCatalogList
	if err := out.List(ctx, &list, nil, operon.Everything); err != nil {
		return nil, false, err
	}
	for i := range list.Items {
		one := &list.Items[i]
		if filter.Selector != nil && !selector.Matches(labels.Set(one.Labels)) {
			continue
		}
		selected = true
		if one.Spec.AvailabilityMode == v1.ModeUnavailable {
			continue
		}
		loaded := c.Catalogs.Of(one)
		if loaded == nil {
			return nil, true, retry("the ClusterCatalog %s was not read yet", one.Name)
		}
		of, err := loaded.Source.Package(filter.PackageName)
		if err != nil {
			return nil, true, retry("ClusterCatalog %s: %s", one.Name, err.Error())
		}
		if of != nil {
			found = append(found, offer{one.Name, one.Spec.Priority, of})
		}
	}
	return found, selected, nil
}
