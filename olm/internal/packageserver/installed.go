package packageserver

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
	operatorsv1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
)

// installed knows which versions work in which namespaces. Users of a namespace may not read the ClusterServiceVersion of an operator that is
// installed in another one. The zero value is empty.
type installed struct {
	mu sync.Mutex
	// versions are the installed versions and their packages.
	versions map[client.ObjectKey]version
	// groups are the namespaces that OperatorGroups select. One empty name stands for all.
	groups map[client.ObjectKey][]string
}

// version is an installed version of a package.
type version struct {
	v1.InstalledVersion
	of string
}

// version records a ClusterServiceVersion. Like the other methods for events, it returns whether anything has changed.
func (s *installed) version(object any) bool {
	csv, ok := object.(*v1alpha1.ClusterServiceVersion)
	if !ok || csv.Copied() {
		return false
	}
	is := version{v1.InstalledVersion{Namespace: csv.Namespace, Name: csv.Name, Version: csv.Spec.Version, Phase: string(csv.Status.Phase)}, contents.PackageOf(csv)}
	s.mu.Lock()
	defer s.mu.Unlock()
	return record(&s.versions, client.ObjectKeyFromObject(csv), is)
}

// noVersion records that a ClusterServiceVersion was deleted.
func (s *installed) noVersion(object any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return forget(s.versions, object)
}

// group records the namespaces of an OperatorGroup.
func (s *installed) group(object any) bool {
	group, ok := object.(*operatorsv1.OperatorGroup)
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return record(&s.groups, client.ObjectKeyFromObject(group), group.Status.Namespaces)
}

// noGroup records that an OperatorGroup was deleted.
func (s *installed) noGroup(object any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return forget(s.groups, object)
}

func record[T any](in *map[client.ObjectKey]T, key client.ObjectKey, is T) (changed bool) {
	if was, ok := (*in)[key]; ok && reflect.DeepEqual(was, is) {
		return false
	}
	if *in == nil {
		*in = map[client.ObjectKey]T{}
	}
	(*in)[key] = is
	return true
}

func forget[T any](in map[client.ObjectKey]T, object any) (changed bool) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	gone, ok := object.(client.Object)
	if ok {
		delete(in, client.ObjectKeyFromObject(gone))
	}
	return ok
}

// in returns the versions that work in a namespace, by their packages.
func (s *installed) in(namespace string) map[string][]v1.InstalledVersion {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := map[string]int{}
	for key := range s.groups {
		groups[key.Namespace]++
	}
	from := map[string]bool{} // namespaces whose operators work in this one
	for key, selected := range s.groups {
		all := len(selected) == 1 && selected[0] == ""
		from[key.Namespace] = groups[key.Namespace] == 1 && (all || slices.Contains(selected, namespace))
	}
	found := map[string][]v1.InstalledVersion{}
	for _, one := range s.versions {
		if from[one.Namespace] && one.of != "" {
			found[one.of] = append(found[one.of], one.InstalledVersion)
		}
	}
	for _, all := range found {
		slices.SortFunc(all, func(a, b v1.InstalledVersion) int {
			return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
		})
	}
	return found
}

// shown returns versions as a column of a table.
func shown(all []v1.InstalledVersion) string {
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
	}
	return strings.Join(names, ", ")
}
