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
	// Grant is the Role, Rule the rule's index in it.
	Grant project.Grant
	Rule  int
	// rbac.Permission is what the rule is about, its verb left out. Group and resource may be wildcards.
	Right rbac.Permission
	// Verbs are the verbs that were not used.
	Verbs []string
	// Used are the rights that were, where the rule has wildcards and grants more than these.
	Used []rbac.Permission
}

// Place is the rule's place in its file, empty where it is not in one.
func (u Unused) Place() string {
	if u.Grant.Role.Unstructured == nil || u.Grant.Role.File == "" {
		return ""
	}
	return u.Grant.Role.PlaceOf("rules[" + strconv.Itoa(u.Rule) + "]")
}

// Diff compares what is needed with what is granted.
//
// Guarantees: a rule allows what the API server's authorizer would let it allow: "*" and
// "*/status" are understood, a name allows no creation and no list of all, a Role nothing outside of
// its namespace. A wildcard that something used is in unused with what used it.
//
// What is not said to be unused though no request used it: verbs that are no requests (escalate,
// bind, use); update of finalizers, which some clusters ask for; get with list, list with watch;
// events in the other of their two groups; leases, by name; what registers webhooks, by name; what
// migrates the storage of a kind; what only goes to Roles that the operator makes; update and
// patch of Jobs, Pods and claims that it creates, which no run changes behind its back.
//
// What is not said to be missing: rights that only go with others, except for those of events and
// elections, which are needed later; and, where a Role's rules are not known, what was not refused.
func Diff(needed Needs, declared []Granted) (missing Needs, unused []Unused) {
	unknown := slices.ContainsFunc(declared, func(g Granted) bool { return g.Unknown })
	for _, need := range needed {
		late := isLease(need.Permission) || isEvent(need.Permission)
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

// refusedFor is what was missing where a patch was refused though it is granted: it would have made
// the object, and creations are not granted.
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

// unused are the rights of the grant that nothing needed, those about the same together.
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

// users are the rights that were needed and that a granted one allows.
func (g Granted) users(granted rbac.Permission, needed Needs) []rbac.Permission {
	var used []rbac.Permission
	for _, need := range needed {
		if !granted.Covers(need.Permission) { // wherever: a use is a use
			continue
		}
		right := need.Permission
		if granted.Name == "" {
			right.Name = "" // that one object was asked for makes no difference
		}
		used = append(used, right)
	}
	slices.SortFunc(used, func(a, b rbac.Permission) int {
		return cmp.Or(cmp.Compare(a.URL, b.URL), cmp.Compare(a.Target(), b.Target()), cmp.Compare(a.Verb, b.Verb))
	})
	return slices.Compact(used)
}

// requests are the verbs that requests can have.
var requests = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post", "put", "head", "options", "*"}

// ofWebhooks: what an operator registers its webhooks and policies with, and keeps their certificates in,
// where it may do so with objects of certain names. Webhooks are not called in tests, and so
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

// isElection reports whether a permission on one Lease serves leader election or a record, which runs may not need.
func isElection(right rbac.Permission) bool {
	return isLease(right) && right.Name != "" && (right.Verb == "get" || right.Verb == "update")
}

// migrates reports whether a right is for the migration of a kind's storage, which rewrites objects after a new
// version of the definition, and then says so in its status: no run has objects in an older version.
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
	if isEvent(right) && (right.Verb == "create" || right.Verb == "patch") {
		return slices.ContainsFunc(needed, func(n Need) bool { return isEvent(n.Permission) && n.Verb == right.Verb })
	}
	return false
}

// leftAlone are the resources whose objects no run changes behind an operator's back: they run once, or
// hold data. See workload.WithDrift.
var leftAlone = []schema.GroupResource{{Group: "batch", Resource: "jobs"}, {Resource: "pods"}, {Resource: "persistentvolumeclaims"}}

// undisturbed reports whether a right may be there to put right what the operator made, and no run gave it
// reason to.
func undisturbed(right rbac.Permission, needed Needs) bool {
	if right.Verb != "update" && right.Verb != "patch" || !slices.Contains(leftAlone, schema.GroupResource{Group: right.Group, Resource: right.Resource}) {
		return false
	}
	return slices.ContainsFunc(needed, func(n Need) bool {
		return n.Verb == "create" && n.Group == right.Group && n.Resource == right.Resource
	})
}
