package rbacusage

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/rbac"
)

// Need is a permission that requests needed.
type Need struct {
	rbac.Permission
	// Wide means that the permission was needed in the whole cluster, and not only in one namespace.
	Wide bool
	// Requests is the number of requests that needed it. It is 0 if it is only needed together with another permission.
	Requests int
	// Refused is the number of these requests that the API server rejected as forbidden.
	Refused int
	// Fixed means that the name is always the same, so that a rule may contain it.
	Fixed bool
	// With names the reason for a permission without a request: "watch", "ownerReferences".
	With string
}

// Needs contains the needed permissions, ordered by group, resource, name and verb.
type Needs []Need

// Options contains information that the requests do not show.
type Options struct {
	// Namespaces contains the namespaces of the runs. A request to another namespace makes a need wide.
	// If it is empty, each namespace is treated as a run's own.
	Namespaces []string
	// Children contains the objects that the operator created. Their owner references, and the Roles among them,
	// show permissions that are needed without a request.
	Children []*unstructured.Unstructured
	// Definitions contains the CustomResourceDefinitions. They define plural names.
	Definitions []*unstructured.Unstructured
	// Narrow requests the names of objects in rules if they are fixed: if they do not contain a name of
	// Varying.
	Narrow bool
	// Varying contains the names of the custom resources.
	Varying []string
}

// Needed returns the permissions that requests needed, and the permissions that go with them.
//
// Permissions of every authenticated user are omitted: discovery, and requests for the user's own permissions.
//
// The following permissions go with others: list with watch, because clients fall back to it; get with list, which
// reveals no more; patch with create for events, because a repeated event is patched; create, get and update
// of leases together, because an election needs all of them in the end; update of finalizers for
// owner references that block the deletion of the owner, which some clusters require; and the permissions in a Role
// that the operator creates, which the API server requires the operator to have.
func Needed(requests []requestlog.Request, options Options) Needs {
	found := map[rbac.Permission]Need{}
	all := false
	for i := range requests {
		r := &requests[i]
		right, ok := rightOf(r)
		if !ok {
			continue
		}
		wide := isWide(r, options)
		all = all || wide && (r.Verb == "list" || r.Verb == "watch")
		count(found, right, r, options)
		if r.Verb != "create" && r.Served == http.StatusCreated && r.Resource != "" {
			right.Verb = "create" // the server requires both if a patch or an update creates an object
			count(found, right, r, options)
		}
	}
	addCompanions(found)
	addOwners(found, options)
	addPassedOn(found, options)
	var needs Needs
	for _, need := range found {
		need.Wide = need.Wide || all && !isLocal(need.Permission)
		needs = append(needs, need)
	}
	slices.SortFunc(needs, compare)
	return needs
}

// count adds a request to the requests that needed a permission.
func count(found map[rbac.Permission]Need, right rbac.Permission, r *requestlog.Request, options Options) {
	if right.Verb == "create" && r.Subresource == "" {
		right.Name = "" // the authorizer does not see a name
	}
	need := found[right]
	need.Permission, need.Requests, need.Fixed = right, need.Requests+1, options.fixed(right.Name)
	need.Wide = need.Wide || isWide(r, options)
	if r.Served == http.StatusForbidden {
		need.Refused++
	}
	found[right] = need
}

func compare(a, b Need) int {
	return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
}

// rightOf returns the permission that a request needed, or false if every user has it.
func rightOf(r *requestlog.Request) (rbac.Permission, bool) {
	if r.Resource == "" {
		return rbac.Permission{URL: r.Path, Verb: r.Verb}, !isPublic(r.Path)
	}
	right := rbac.Permission{Group: r.Group, Resource: r.Resource, Name: r.Name, Verb: r.Verb}
	if r.Subresource != "" {
		right.Resource += "/" + r.Subresource
	}
	if r.Verb == "deletecollection" {
		right.Name = "" // the authorizer does not see a name
	}
	ownRights := r.Verb == "create" && strings.HasPrefix(r.Resource, "selfsubject") && strings.HasPrefix(r.Group, "auth")
	return right, !ownRights
}

// public contains the paths that Kubernetes allows every user to read.
var public = []string{"/api", "/apis", "/healthz", "/livez", "/readyz", "/openapi", "/version"}

func isPublic(path string) bool {
	return slices.ContainsFunc(public, func(known string) bool {
		return path == known || strings.HasPrefix(path, known+"/")
	})
}

// isWide reports whether a request affects the whole cluster: all namespaces, cluster-scoped
// objects, or a namespace that is not a run's own.
func isWide(r *requestlog.Request, options Options) bool {
	if r.Namespace == "" || r.Resource == "namespaces" {
		return true
	}
	return len(options.Namespaces) > 0 && !slices.Contains(options.Namespaces, r.Namespace)
}

// isLocal reports whether a permission is for requests that an operator sends in its own namespace, even if it serves all
// namespaces: elections, and events about them.
func isLocal(right rbac.Permission) bool { return right.IsLease() || right.IsEvent() }

// fixed reports whether a rule may contain a name.
func (o Options) fixed(name string) bool {
	varies := slices.ContainsFunc(o.Varying, func(part string) bool { return strings.Contains(name, part) })
	return o.Narrow && name != "" && !varies
}

// addCompanions adds the permissions that go with the needed ones. If a permission on one object already exists
// for a companion, it is not added again without a name.
func addCompanions(found map[rbac.Permission]Need) {
	inOrder := slices.SortedFunc(maps.Values(found), func(a, b Need) int { return compare(b, a) }) // permissions with names first
	for _, need := range inOrder {
		for _, verb := range need.Permission.Companions() {
			named := func(right rbac.Permission) bool {
				return need.Name == "" && right.Name != "" && right.Verb == verb && right.Group == need.Group && right.Resource == need.Resource
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), named) || need.Verb == "list" || need.Verb == "watch" {
				add(found, need, verb)
			}
		}
	}
}

// add adds a permission that goes with a needed one.
func add(found map[rbac.Permission]Need, with Need, verb string) {
	right := with.Permission
	right.Verb = verb
	if verb == "create" {
		right.Name = ""
	}
	need, there := found[right]
	if !there {
		need = Need{Permission: right, With: with.Verb, Fixed: with.Fixed}
	}
	need.Wide = need.Wide || with.Wide
	found[right] = need
}

// addOwners adds the permissions that the admission plugin OwnerReferencesPermissionEnforcement requires.
func addOwners(found map[rbac.Permission]Need, options Options) {
	for _, child := range options.Children {
		for _, owner := range child.GetOwnerReferences() {
			if owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
				continue
			}
			resource := resourceOf(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind(), options.Definitions)
			if !asked(found, resource) {
				continue // the owner belongs to another client
			}
			right := rbac.Permission{Group: resource.Group, Resource: resource.Resource + "/finalizers", Verb: "update"}
			if _, there := found[right]; !there {
				found[right] = Need{Permission: right, With: "ownerReferences"}
			}
		}
	}
}

// resourceOf returns the resource of a kind: the plural name in its definition, or the usual one.
func resourceOf(kind schema.GroupKind, definitions []*unstructured.Unstructured) schema.GroupResource {
	for _, definition := range definitions {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
		if group == kind.Group && name == kind.Kind {
			return schema.GroupResource{Group: group, Resource: plural}
		}
	}
	return usualPlural(kind)
}

func asked(found map[rbac.Permission]Need, resource schema.GroupResource) bool {
	for right := range found {
		if right.Group == resource.Group && right.Resource == resource.Resource {
			return true
		}
	}
	return false
}

// addPassedOn adds the permissions that Roles created by the operator grant. [Diff] does not report them as missing, because
// the API server also accepts such Roles from an operator that may escalate.
func addPassedOn(found map[rbac.Permission]Need, options Options) {
	for _, child := range options.Children {
		if child.GroupVersionKind().Group != rbacv1.GroupName || child.GetKind() != "Role" && child.GetKind() != "ClusterRole" {
			continue
		}
		role, err := kube.ReadRole(child)
		if err != nil {
			continue // the API server would have rejected it
		}
		for _, rule := range role.Rules {
			for _, right := range rbac.Permissions(rule) {
				if _, there := found[right]; !there {
					found[right] = Need{Permission: right, With: "escalate", Wide: child.GetKind() == "ClusterRole"}
				}
			}
		}
	}
}
