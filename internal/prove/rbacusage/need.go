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
	// Wide: it was needed in the whole cluster, and not in one namespace.
	Wide bool
	// Requests is how many there were, 0 where the right only goes with others.
	Requests int
	// Refused is how many of them the API server rejected as forbidden.
	Refused int
	// Fixed: the name is always the same one, and a rule may have it.
	Fixed bool
	// With says what the right goes with where there was no request: "watch", "ownerReferences".
	With string
}

// Needs are rights that are needed, in order of group, resource, name and verb.
type Needs []Need

// Options say what requests alone do not tell.
type Options struct {
	// Namespaces are those that the runs were in. A request into another one makes a need wide.
	// None: each namespace is taken for a run's own.
	Namespaces []string
	// Children are objects that the operator made. Their owner references, and Roles among them,
	// tell of rights that are needed without a request.
	Children []*unstructured.Unstructured
	// Definitions are the CustomResourceDefinitions: they tell plural names.
	Definitions []*unstructured.Unstructured
	// Narrow asks for the names of objects in rules, where these are fixed: where no name in
	// Varying is a part of them.
	Narrow bool
	// Varying are the names of the custom resources.
	Varying []string
}

// Needed are the rights that requests needed, and those that go with them.
//
// What every authenticated user may do is left out: discovery, asking for one's own rights.
//
// What goes with something: list with watch, as the client falls back to it; get with list, which
// tells no more; patch with create for events, as a repeated one is patched; create, get and update
// of leases together, as an election needs all, though late; update of finalizers, for
// owner references that block the deletion of the owner, which some clusters ask for; and what a Role
// grants that the operator makes, which the API server asks the operator to have.
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
			right.Verb = "create" // the server asks for both where a patch or an update makes an object
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

// count adds a request to those that needed a right.
func count(found map[rbac.Permission]Need, right rbac.Permission, r *requestlog.Request, options Options) {
	if right.Verb == "create" && r.Subresource == "" {
		right.Name = "" // the authorizer sees none
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

// rightOf is what a request needed, false where everybody may do that.
func rightOf(r *requestlog.Request) (rbac.Permission, bool) {
	if r.Resource == "" {
		return rbac.Permission{URL: r.Path, Verb: r.Verb}, !isPublic(r.Path)
	}
	right := rbac.Permission{Group: r.Group, Resource: r.Resource, Name: r.Name, Verb: r.Verb}
	if r.Subresource != "" {
		right.Resource += "/" + r.Subresource
	}
	if r.Verb == "deletecollection" {
		right.Name = "" // the authorizer sees none
	}
	ownRights := r.Verb == "create" && strings.HasPrefix(r.Resource, "selfsubject") && strings.HasPrefix(r.Group, "auth")
	return right, !ownRights
}

// public are the paths that Kubernetes lets every user read.
var public = []string{"/api", "/apis", "/healthz", "/livez", "/readyz", "/openapi", "/version"}

func isPublic(path string) bool {
	return slices.ContainsFunc(public, func(known string) bool {
		return path == known || strings.HasPrefix(path, known+"/")
	})
}

// isWide reports whether a request is about the whole cluster: about all namespaces, about what is in
// none, or into a namespace that is not a run's.
func isWide(r *requestlog.Request, options Options) bool {
	if r.Namespace == "" || r.Resource == "namespaces" {
		return true
	}
	return len(options.Namespaces) > 0 && !slices.Contains(options.Namespaces, r.Namespace)
}

// isLocal tells of what an operator does in its own namespace, though it serves all: elections, and
// events about them.
func isLocal(right rbac.Permission) bool { return isLease(right) || isEvent(right) }

func isLease(right rbac.Permission) bool {
	return right.Group == "coordination.k8s.io" && right.Resource == "leases"
}

func isEvent(right rbac.Permission) bool {
	return right.Resource == "events" && (right.Group == "" || right.Group == "events.k8s.io")
}

// goesWith are the verbs that are needed with a right, sooner or later.
func goesWith(right rbac.Permission) []string {
	switch {
	case isLease(right) && (right.Verb == "get" || right.Verb == "update"): // a create follows a get that found nothing
		return []string{"create", "get", "update"}
	case isEvent(right) && right.Verb == "create":
		return []string{"patch"}
	case right.Verb == "watch":
		return []string{"list", "get"}
	case right.Verb == "list":
		return []string{"get"}
	}
	return nil
}

// fixed reports whether a name may stand in a rule.
func (o Options) fixed(name string) bool {
	varies := slices.ContainsFunc(o.Varying, func(part string) bool { return strings.Contains(name, part) })
	return o.Narrow && name != "" && !varies
}

// addCompanions adds the rights that go with those that were needed: of one object with one of that
// object, where there is one.
func addCompanions(found map[rbac.Permission]Need) {
	inOrder := slices.SortedFunc(maps.Values(found), func(a, b Need) int { return compare(b, a) }) // those with names first
	for _, need := range inOrder {
		for _, verb := range goesWith(need.Permission) {
			named := func(right rbac.Permission) bool {
				return need.Name == "" && right.Name != "" && right.Verb == verb && right.Group == need.Group && right.Resource == need.Resource
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), named) || need.Verb == "list" || need.Verb == "watch" {
				add(found, need, verb)
			}
		}
	}
}

// add adds a right that goes with one that was needed.
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

// addOwners adds what the admission plugin OwnerReferencesPermissionEnforcement asks for.
func addOwners(found map[rbac.Permission]Need, options Options) {
	for _, child := range options.Children {
		for _, owner := range child.GetOwnerReferences() {
			if owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
				continue
			}
			resource := resourceOf(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind(), options.Definitions)
			if !asked(found, resource) {
				continue // the owner is another client's
			}
			right := rbac.Permission{Group: resource.Group, Resource: resource.Resource + "/finalizers", Verb: "update"}
			if _, there := found[right]; !there {
				found[right] = Need{Permission: right, With: "ownerReferences"}
			}
		}
	}
}

// resourceOf is the plural name of a kind: what its definition says, or the usual one.
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

// addPassedOn adds what the Roles grant that the operator made, unless it was refused nothing
// because of a right to escalate, which [Diff] looks for.
func addPassedOn(found map[rbac.Permission]Need, options Options) {
	for _, child := range options.Children {
		if child.GroupVersionKind().Group != rbacv1.GroupName || child.GetKind() != "Role" && child.GetKind() != "ClusterRole" {
			continue
		}
		role, err := kube.ReadRole(child)
		if err != nil {
			continue // the API server would not have taken it
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
