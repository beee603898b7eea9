package rbacusage

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/internal/tools/rbac"
)

// Findings returns findings about the permissions that a project declares: missing permissions, and,
// if the runs showed enough of the operator, permissions that no run used.
//
// The runs showed enough if objects were created, changed and deleted, and faults occurred
// in the meantime: an operator that never had to clean up needs fewer permissions than it has. If no permissions are
// declared, the result is empty.
func Findings(needed Needs, declared []Granted, enough bool) []finding.Finding {
	if len(declared) == 0 {
		return nil
	}
	missing, unused := Diff(needed, declared)
	var all []finding.Finding
	for _, need := range byResource(missing, declared) {
		all = append(all, finding.Finding{Property: finding.Permitted, Class: finding.Privilege, Of: roleIn(declared), Message: need})
	}
	if !enough {
		return all
	}
	for _, u := range unused {
		all = append(all, finding.Finding{
			Property: finding.Needed, Level: finding.Note, Class: finding.Privilege, Message: u.String(),
			Of: &workload.Ref{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: u.Grant.Kind, Name: u.Grant.Name},
		})
	}
	return all
}

// byResource returns a sentence for each resource with missing permissions.
func byResource(missing Needs, declared []Granted) []string {
	var order []string
	verbs, refused := map[string][]string{}, map[string]bool{}
	for _, need := range missing {
		about := rbac.Permission{Group: need.Group, Resource: need.Resource, URL: need.URL}.String()
		if slices.ContainsFunc(declared, func(g Granted) bool { return g.allowsSomewhere(need) }) {
			about += " in all namespaces"
		}
		if verbs[about] == nil {
			order = append(order, about)
		}
		verbs[about] = append(verbs[about], need.Verb)
		refused[about] = refused[about] || need.Refused > 0
	}
	var all []string
	for _, about := range order {
		how := "asked for"
		if refused[about] {
			how = "refused"
		}
		all = append(all, fmt.Sprintf("no rule grants %s on %s, which was %s: add it", join(distinct(verbs[about])), about, how))
	}
	return all
}

// String returns a sentence that names what to remove or replace, and where.
func (u Unused) String() string {
	place := ""
	if at := u.Place(); at != "" {
		place = " (" + at + ")"
	}
	role := u.Grant.Kind + "/" + u.Grant.Name
	if len(u.Used) > 0 {
		return fmt.Sprintf("%s grants %s on %s%s; used were only %s: write out these", role, join(u.Verbs), u.Right.String(), place, uses(u.Used))
	}
	it := "it"
	if len(u.Verbs) > 1 {
		it = "them"
	}
	return fmt.Sprintf("%s grants %s on %s%s, and no run used %s: remove %s", role, join(u.Verbs), u.Right.String(), place, it, it)
}

// uses formats permissions. The verbs of a resource are combined, and so are resources with the same verbs.
func uses(rights []rbac.Permission) string {
	var resources, verbs grouping
	for _, right := range rights {
		verb := right.Verb
		right.Verb = ""
		resources.add(right.String(), verb)
	}
	for _, about := range resources.order {
		verbs.add(join(distinct(resources.of[about])), about)
	}
	var all []string
	for _, of := range verbs.order {
		all = append(all, of+" on "+join(verbs.of[of]))
	}
	return strings.Join(all, "; ")
}

// grouping groups texts by key, in the order in which they were added.
type grouping struct {
	order []string
	of    map[string][]string
}

func (g *grouping) add(to, one string) {
	if g.of[to] == nil {
		g.order = append(g.order, to)
	}
	if g.of == nil {
		g.of = map[string][]string{}
	}
	g.of[to] = append(g.of[to], one)
}

func distinct(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}

// join joins words as in "get, list and watch".
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// roleIn returns a reference to the Role to change, or nil if there is not exactly one.
func roleIn(declared []Granted) *workload.Ref {
	if len(declared) != 1 {
		return nil
	}
	return &workload.Ref{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: declared[0].Kind, Name: declared[0].Name}
}

// Notes returns sentences about permissions that are needed, or granted and accepted, although no request shows
// it. Permissions with the same reason are combined in one sentence.
func Notes(needed Needs, declared []Granted) []string {
	var owners, passed, kept []rbac.Permission
	for _, need := range needed {
		switch need.With {
		case "ownerReferences":
			owners = append(owners, need.Permission)
		case "escalate":
			passed = append(passed, need.Permission)
		}
	}
	var unknown []string
	for _, granted := range declared {
		if granted.Unknown {
			unknown = append(unknown, fmt.Sprintf("%s/%s is bound and is not part of the project: what it grants is not known", granted.Kind, granted.Name))
		}
		kept = append(kept, granted.kept(needed)...)
	}
	var all []string
	for _, said := range []struct {
		of   []rbac.Permission
		what string
	}{
		{owners, "no request needs this; owner references that block the deletion of their owner do, on clusters with the admission plugin OwnerReferencesPermissionEnforcement, as OpenShift is"},
		{passed, "the operator passes this on in a Role that it makes"},
		{kept, "kept, though no request shows whether this is needed"},
	} {
		if len(said.of) > 0 {
			all = append(all, uses(said.of)+": "+said.what)
		}
	}
	return append(all, unknown...)
}

// kept returns the permissions of a Role that were not used and are not reported.
func (g Granted) kept(needed Needs) []rbac.Permission {
	var all []rbac.Permission
	for _, rule := range g.Rules {
		for _, right := range rbac.Permissions(rule) {
			used := slices.ContainsFunc(needed, func(n Need) bool { return n.Permission == right })
			if !used && !slices.Contains(all, right) && (g.excused(right, nil) || undisturbed(right, needed)) {
				all = append(all, right)
			}
		}
	}
	return all
}
