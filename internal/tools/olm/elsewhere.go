package olm

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// packageManifests are served by the lifecycle manager.
var packageManifests = schema.GroupVersionResource{Group: "packages.operators.coreos.com", Version: "v1", Resource: "packagemanifests"}

// labelInstalled is on PackageManifests of packages of which a version works in the namespace.
const labelInstalled = "operon.dev/installed"

// Package is a package of a catalog, with its versions that work in the namespace.
type Package struct {
	Metadata struct{ Name string }
	Status   struct {
		Installed []struct{ Namespace, Name, Version, Phase string }
	}
}

// ReadElsewhere reads the operators that work in the namespace and are installed in another one. Users of a namespace may read them as
// PackageManifests, if the lifecycle manager serves these.
func (s *State) ReadElsewhere(ctx context.Context, client *kube.Client) error {
	list, err := client.Dynamic.Resource(packageManifests).Namespace(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labelInstalled})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		s.lack(Missing("list", packageManifests, s.Namespace, ""))
		return nil
	case apierrors.IsServiceUnavailable(err):
		s.lack("the lifecycle manager does not serve PackageManifests at the moment, so operators of other namespaces that work in this one are not listed")
		return nil
	case err != nil:
		return fmt.Errorf("list %s: %w", packageManifests.GroupResource(), err)
	}
	for i := range list.Items {
		one, err := Decode[Package](&list.Items[i])
		if err != nil {
			return err
		}
		s.Packages = append(s.Packages, *one)
	}
	return nil
}

// elsewhere returns the operators that work in the namespace and are installed in another one.
func (s *State) elsewhere() []Operator {
	var all []Operator
	for _, of := range s.Packages {
		for _, one := range of.Status.Installed {
			same := func(o Operator) bool { return o.Namespace == one.Namespace && o.CSV == one.Name }
			if one.Namespace == s.Namespace || slices.ContainsFunc(all, same) { // several catalogs may have the package
				continue
			}
			all = append(all, Operator{
				Namespace: one.Namespace, CSV: one.Name, Version: one.Version, Package: of.Metadata.Name, Phase: one.Phase,
				Namespaces: []string{s.Namespace}, Elsewhere: true,
			})
		}
	}
	return all
}
