package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// maxNear is the number of names that an error suggests instead of a name that does not exist.
const maxNear = 5

// resource is a kind in the cluster.
type resource struct {
	schema.GroupVersionResource
	kind       string
	names      []string // besides the name of the resource
	namespaced bool
}

// title returns the kind with its group.
func (r resource) title() string { return strings.TrimSuffix(r.kind+"."+r.Group, ".") }

// measured is the API group of resource usage metrics of nodes and pods. Its resources have the same names as those of the
// core group, but there are no objects to explain.
const measured = "metrics.k8s.io"

// resources returns all kinds that can be read, each in its preferred version. API groups whose server does not answer are
// left out.
func resources(client discovery.DiscoveryInterface) ([]resource, error) {
	lists, err := client.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("list the kinds of the API server: %w", err)
	}
	var all []resource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		if version.Group == measured {
			continue
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "get") && !strings.Contains(r.Name, "/") {
				all = append(all, resource{
					GroupVersionResource: version.WithResource(r.Name), kind: r.Kind,
					names: append(r.ShortNames, r.SingularName, strings.ToLower(r.Kind)), namespaced: r.Namespaced,
				})
			}
		}
	}
	return all, nil
}

// pick finds the one kind that a text specifies.
func pick(all []resource, text string) (resource, error) {
	name, group, grouped := strings.Cut(strings.ToLower(text), ".")
	var found []resource
	for _, r := range all {
		if (r.Resource == name || slices.Contains(r.names, name)) && (!grouped || r.Group == group) {
			found = append(found, r)
		}
	}
	core := slices.DeleteFunc(slices.Clone(found), func(r resource) bool { return r.Group != "" })
	if len(core) == 1 {
		found = core // kubectl selects it, too
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return resource{}, unknown(all, text, name)
	}
	var titles []string
	for _, r := range found {
		titles = append(titles, r.title())
	}
	slices.Sort(titles)
	return resource{}, fmt.Errorf("%s is a kind of several groups; name one of %s", text, strings.Join(titles, ", "))
}

// unknown returns an error that suggests kinds with a similar name.
func unknown(all []resource, text, name string) error {
	var titles []string
	for _, r := range all {
		titles = append(titles, r.title())
	}
	if similar := nearest(titles, func(title string) string { return strings.ToLower(strings.SplitN(title, ".", 2)[0]) }, name); len(similar) > 0 {
		return fmt.Errorf("the cluster has no kind %q; did you mean %s?", text, strings.Join(similar, " or "))
	}
	return fmt.Errorf("the cluster has no kind %q; is its CustomResourceDefinition installed?", text)
}

// missing returns the error for an object that does not exist: it names similar objects of the namespace, and namespaces that
// contain an object with that name.
func missing(of resource, options Options, all []unstructured.Unstructured) error {
	none := fmt.Sprintf("%s %s not found", of.kind, address(options.Namespace, options.Name))
	var elsewhere, here []string
	for _, object := range all {
		if object.GetName() == options.Name {
			elsewhere = append(elsewhere, object.GetNamespace())
		}
		if object.GetNamespace() == options.Namespace {
			here = append(here, object.GetName())
		}
	}
	if len(elsewhere) > 0 {
		return fmt.Errorf("%s; it exists in namespace %s", none, strings.Join(elsewhere, ", "))
	}
	if similar := nearest(here, strings.ToLower, strings.ToLower(options.Name)); len(similar) > 0 {
		return fmt.Errorf("%s; did you mean %s?", none, strings.Join(similar, " or "))
	}
	if len(here) == 1 {
		return fmt.Errorf("%s; did you mean %s?", none, here[0])
	}
	if len(here) > 0 {
		return fmt.Errorf("%s; did you mean one of %s?", none, strings.Join(here[:min(len(here), maxNear)], ", "))
	}
	return fmt.Errorf("%s; the cluster has no %s", none, of.kind)
}

func address(namespace, name string) string {
	return strings.TrimPrefix(namespace+"/"+name, "/")
}

// nearest returns the names whose form has an edit distance of at most a third of the length of the typed text, the nearest
// first.
func nearest(names []string, form func(string) string, typed string) []string {
	distances := map[string]int{}
	var near []string
	for _, name := range names {
		distance := editDistance(form(name), typed)
		if _, seen := distances[name]; !seen && distance <= max(len(typed)/3, 1) {
			distances[name] = distance
			near = append(near, name)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
	return near[:min(len(near), maxNear)]
}

// editDistance returns the number of letters to insert, delete or change to turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
