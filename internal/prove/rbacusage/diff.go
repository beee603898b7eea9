package rbacusage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/rbac"
)

// Unused is a permission that a rule grants and no run used.
type Unused struct {
	// Grant is the Role. Rule is the index of the rule in it.
	Grant project.Grant
	Rule  int
	// Right is the permission without its verb. Group and resource may be wildcards.
	Right rbac.Permission
	// Verbs are the verbs that were not used.
	Verbs []string
	// Used contains the permissions that were used, if the rule has wildcards and grants more than these.
	Used []rbac.Permission
}

// Place returns the position of the rule in its file, or an empty string if it is not in a file.
func (u Unused) Place() string {
	if u.Grant.Role.Unstructured == nil || u.Grant.Role.File == "" {
		return ""
	}
	return u.Grant.Role.PlaceOf("rules[" + strconv.Itoa(u.Rule) + "]")
}

// Diff compares the needed permissions with the granted permissions.
//
// Guarantees: rules are evaluated as by the API server's authorizer: "*" and "*/status" are supported, a rule with a name
// allows neither creation nor a list of all objects, and a Role allows nothing outside of its namespace. A wildcard that
// was used is in unused, together with the permissions that used it.
//
// The following permissions are not reported as unused, although no request used them: verbs that are not requests (escalate,
// bind, use); update of finalizers, which some clusters require; get with list, and list with watch;
// events in the other of their two groups; leases with a name; permissions with a name to register webhooks; permissions to
// migrate the storage of a kind; permissions that are only passed on to Roles that the operator creates; update and
// patch of Jobs, Pods and claims that the operator creates, which no run changes.
//
// The following permissions are not reported as missing: permissions that are only needed together with others, except
// permissions for events and elections, which are needed later; and, if the rules of a Role are not known, permissions
// whose requests were not rejected.
func Diff(needed Needs, declared []Granted) (missing Needs, unused []Unused) {
	unknown := slices.ContainsFunc(declared, func(g Granted) bool { return g.Unknown })
	for _, need := range needed {
		late := need.Permission.IsLease() || need.Permission.IsEvent()
		if need.Requests == 0 && !late || unknown && need.Refused == 0 {
			continue
		}
		if need = refusedFor(need, declared); !granted(declared, need) {
			missing = append(missing, need)
		}
	}
	for _, granted := range declared {
		unused = append(unused, granted.unused(needed)...)
	}
	return missing, unused
}

// refusedFor returns the missing permission if a patch or an update was rejected although it is granted: it would have
// created the object, and creation is not granted. Otherwise it returns the need.
func refusedFor(need Need, declared []Granted) Need {
	create := need
	create.Verb, create.Name = "create", ""
	if need.Refused > 0 && (need.Verb == "patch" || need.Verb == "update") && granted(declared, need) && !granted(declared, create) {
		return create
	}
	return need
}

func granted(declared []Granted, need Need) bool {
	return slices.ContainsFunc(declared, func(g Granted) bool { return g.allows(need) })
}

// allows reports whether one of the rules allows a need.
func (g Granted) allows(need Need) bool {
	if !g.holds(need) {
		return false
	}
	for _, rule := range g.Rules {
		if slices.ContainsFunc(rbac.Permissions(rule), func(right rbac.Permission) bool { return right.Covers(need.Permission) }) {
			return true
		}
	}
	return false
}

// unused returns the permissions of the grant that were not needed. Permissions on the same resource are combined.
func (g Granted) unused(needed Needs) []Unused {
	var all []Unused
	for i, rule := range g.Rules {
		for _, right := range rbac.Permissions(rule) {
			used := g.users(right, needed)
			if len(used) > 0 && !right.IsWild() || g.excused(right, needed) || undisturbed(right, needed) {
				continue
			}
			verb := right.Verb
			right.Verb = ""
			same := slices.IndexFunc(all, func(u Unused) bool { return u.Rule == i && u.Right == right && (len(u.Used) > 0) == (len(used) > 0) })
			if same < 0 {
				all = append(all, Unused{Grant: g.Grant, Rule: i, Right: right})
				same = len(all) - 1
			}
			all[same].Verbs = append(all[same].Verbs, verb)
			all[same].Used = append(all[same].Used, used...)
		}
	}
	return all
}

// allowsSomewhere reports whether one of the rules allows a need, even if only in one namespace.
func (g Granted) allowsSomewhere(need Need) bool {
	need.Wide = false
	return g.allows(need)
}

// users returns the needed permissions that a granted permission allows.
func (g Granted) users(granted rbac.Permission, needed Needs) []rbac.Permission {
	var used []rbac.Permission
	for _, need := range needed {
		if !granted.Covers(need.Permission) { // the namespace does not matter
			continue
		}
		right := need.Permission
		if granted.Name == "" {
			right.Name = "" // it does not matter that one object was requested
		}
		used = append(used, right)
	}
	slices.SortFunc(used, func(a, b rbac.Permission) int {
		return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Target(), b.Target()), cmp.Compare(a.Verb, b.Verb))
	})
	return slices.Compact(used)
}

// requests contains the verbs that requests can have.
var requests = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post", "put", "head", "options", "*"}

// ofWebhooks reports whether a permission on an object with a certain name is for the registration of webhooks or policies,
// or for the storage of their certificates. Webhooks are not called in tests, so
// nothing is registered.
func ofWebhooks(right rbac.Permission) bool {
	switch {
	case right.Name == "":
		return false
	case right.Group == "admissionregistration.k8s.io":
		return true
	case right.Group == "apiextensions.k8s.io":
		return right.Resource == "customresourcedefinitions"
	}
	return right.Group == "" && right.Resource == "secrets" && strings.HasSuffix(right.Name, "-webhook-certificates")
}

// isElection reports whether a permission on one Lease is for leader election or for a record. Runs may not need either.
func isElection(right rbac.Permission) bool {
	return right.IsLease() && right.Name != "" && (right.Verb == "get" || right.Verb == "update")
}

// migrates reports whether a permission is for the storage migration of a kind, which rewrites objects after a new
// version of the definition and then updates the status of the definition. No run has objects in an older version.
func (g Granted) migrates(right rbac.Permission) bool {
	ofDefinition := func(r rbac.Permission) bool {
		return r.Group == "apiextensions.k8s.io" && r.Resource == "customresourcedefinitions/status" && r.Name != "" && r.Verb == "update"
	}
	if ofDefinition(right) {
		return true
	}
	return right.Verb == "patch" && slices.ContainsFunc(g.Rules, func(rule rbacv1.PolicyRule) bool {
		return slices.ContainsFunc(rbac.Permissions(rule), func(r rbac.Permission) bool { return ofDefinition(r) && r.Name == right.Resource+"."+right.Group })
	})
}

// excused reports whether a permission of the grant is useful although no request needs it.
func (g Granted) excused(right rbac.Permission, needed Needs) bool {
	if !slices.Contains(requests, right.Verb) {
		return true
	}
	if strings.HasSuffix(right.Resource, "/finalizers") && right.Verb == "update" {
		return true
	}
	if ofWebhooks(right) || g.migrates(right) || isElection(right) {
		return true
	}
	if right.IsEvent() && (right.Verb == "create" || right.Verb == "patch") {
		return slices.ContainsFunc(needed, func(n Need) bool { return n.Permission.IsEvent() && n.Verb == right.Verb })
	}
	return false
}

// leftAlone contains the resources whose objects no run changes without the operator: they run once, or
// contain data. See workload.WithDrift.
var leftAlone = []schema.GroupResource{{Group: "batch", Resource: "jobs"}, {Resource: "pods"}, {Resource: "persistentvolumeclaims"}}

// undisturbed reports whether a permission may serve to repair objects that the operator created, and no run gave it a
// reason to do so.
func undisturbed(right rbac.Permission, needed Needs) bool {
	if right.Verb != "update" && right.Verb != "patch" || !slices.Contains(leftAlone, schema.GroupResource{Group: right.Group, Resource: right.Resource}) {
		return false
	}
	return slices.ContainsFunc(needed, func(n Need) bool {
		return n.Verb == "create" && n.Group == right.Group && n.Resource == right.Resource
	})
}
