package rbacusage_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/rbacusage"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/tools/project"
)

func pick(from *rand.Rand, choices ...string) string { return choices[from.IntN(len(choices))] }

func someRequests(from *rand.Rand) []requestlog.Request {
	var all []requestlog.Request
	for range from.IntN(12) {
		r := requestlog.Request{
			Verb:     pick(from, "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
			Group:    pick(from, "", "apps", "events.k8s.io", "coordination.k8s.io"),
			Resource: pick(from, "pods", "events", "leases", "deployments"), Namespace: pick(from, "", "a", "b"), Name: pick(from, "", "x", "y"),
			Subresource: pick(from, "", "", "status"),
		}
		if from.IntN(8) == 0 {
			r = requestlog.Request{Verb: "get", Path: pick(from, "/metrics", "/debug/x", "/version")}
		}
		all = append(all, r)
	}
	return all
}

// With a Role built from needs, nothing is missing and nothing is unused. If a rule with requested permissions is removed,
// permissions are missing. If a verb is added, it is unused.
func TestTheRoleIsEnoughAndNoMore(t *testing.T) {
	t.Parallel()
	for seed := range uint64(80) {
		from := rand.New(rand.NewPCG(seed, seed))
		needed := rbacusage.Needed(someRequests(from), rbacusage.Options{Narrow: seed%2 == 0})
		role := needed.Role("made")
		if missing, unused := rbacusage.Diff(needed, granted(t, role)); len(missing)+len(unused) > 0 {
			t.Fatalf("seed %d: missing %v, unused %v of %v", seed, missing, unused, role.Object)
		}
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		for i := range rules {
			without, more := role.DeepCopy(), role.DeepCopy()
			fewer := append(append([]any{}, rules[:i]...), rules[i+1:]...)
			_ = unstructured.SetNestedSlice(without.Object, fewer, "rules")
			if missing, _ := rbacusage.Diff(needed, granted(t, without)); len(missing) == 0 && asked(needed, rules[i]) {
				t.Fatalf("seed %d: rule %v is gone and nothing is missing", seed, rules[i])
			}
			added, _, _ := unstructured.NestedSlice(more.Object, "rules")
			fields := added[i].(map[string]any)
			fields["verbs"] = append(fields["verbs"].([]any), "head")
			_ = unstructured.SetNestedSlice(more.Object, added, "rules")
			if _, unused := rbacusage.Diff(needed, granted(t, more)); len(unused) == 0 {
				t.Fatalf("seed %d: a verb more in %v, and nothing is unused", seed, fields)
			}
		}
	}
}

// asked reports whether a rule grants a permission that was requested and does not only go with another one.
func asked(needed rbacusage.Needs, rule any) bool {
	fields := rule.(map[string]any)
	for _, need := range needed {
		if need.Requests > 0 && contains(fields["verbs"], need.Verb) &&
			(need.URL != "" && contains(fields["nonResourceURLs"], need.URL) || contains(fields["apiGroups"], need.Group) && contains(fields["resources"], need.Resource)) &&
			(fields["resourceNames"] == nil || contains(fields["resourceNames"], need.Name)) {
			return true
		}
	}
	return false
}

func contains(list any, text string) bool {
	texts, _ := list.([]any)
	for _, element := range texts {
		if fmt.Sprint(element) == text {
			return true
		}
	}
	return false
}

func granted(t *testing.T, role *unstructured.Unstructured) []rbacusage.Granted {
	t.Helper()
	scope := project.NamespaceScope
	if role.GetKind() == "ClusterRole" {
		scope = project.ClusterScope
	}
	all, err := rbacusage.Of([]project.Grant{{Role: project.Object{Unstructured: role}, Kind: role.GetKind(), Name: role.GetName(), Scope: scope}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
