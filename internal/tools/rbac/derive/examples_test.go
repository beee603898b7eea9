package derive_test

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/operon-framework/operon/internal/tools/rbac/derive"
)

// Reasons for the differences between the manually written Roles of the examples and the derived ones.
var (
	ownLeases   = "leases are the operator's own: permissions on all leases would allow it to take the leadership of other programs"
	differences = map[string]map[string]string{
		"memcached": leasesByName(nil, "memcached-operator", "memcached-operator-kinds"),
		"site":      leasesByName(nil, "site-operator", "site-operator-kinds", "site-operator-migrations"),
		"vmgroup":   leasesByName(nil, "vmgroup-operator", "vmgroup-operator-kinds"),
		"store": leasesByName(map[string]string{
			"- actions.operon.dev actions/finalizers update": "no object has an Action as its owner, so no owner reference blocks its deletion",
		}, "store-operator", "store-operator-kinds"),
	}
)

func leasesByName(others map[string]string, names ...string) map[string]string {
	all := maps.Clone(others)
	if all == nil {
		all = map[string]string{}
	}
	all["- coordination.k8s.io leases create"] = ownLeases
	all["+ system: coordination.k8s.io leases create"] = ownLeases
	for _, verb := range []string{"get", "update"} {
		all["- coordination.k8s.io leases "+verb] = ownLeases
		for _, name := range names {
			all["+ system: coordination.k8s.io leases="+name+" "+verb] = ownLeases
		}
	}
	return all
}

// The Roles of the examples are derived from their code alone, without markers. The examples' own tests (TestReliable of
// each) show that they are sufficient and minimal.
func TestExamples(t *testing.T) {
	t.Parallel()
	for name, why := range differences {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("../../../../examples", name)
			role, notes := generated(t, dir, derive.Generator{}, "./...")
			if len(notes) > 0 {
				t.Errorf("notes: %q", notes)
			}
			if kept := readFile(t, dir, "config", "rbac", "role.yaml"); role != kept {
				t.Errorf("run operon generate in %s: generated is\n%s", dir, role)
			}
			made, written := rightsIn(t, role), rightsIn(t, readFile(t, "testdata", "written", name+".yaml"))
			for right := range written {
				if !made[right] && why["- "+right] == "" {
					t.Errorf("a person gave it %q, and the code does not", right)
				}
			}
			for right := range made {
				if !written[right] && why["+ "+right] == "" {
					t.Errorf("the code gives it %q, and no person did", right)
				}
			}
			for difference := range why {
				right := difference[2:]
				if made[right] == written[right] {
					t.Errorf("%q is explained, and is no difference", difference)
				}
			}
		})
	}
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// rightsIn returns the permissions in a file of Roles, one for each verb: [NAMESPACE:] GROUP RESOURCE[=NAME] VERB.
func rightsIn(t *testing.T, roles string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	documents := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(roles), 4096)
	for {
		var one rbacv1.Role
		err := documents.Decode(&one)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range one.Rules {
			for _, right := range split(rule) {
				if one.Namespace != "" {
					right = one.Namespace + ": " + right
				}
				found[right] = true
			}
		}
	}
}

func split(rule rbacv1.PolicyRule) []string {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var all []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, name := range names {
				on := resource
				if name != "" {
					on += "=" + name
				}
				for _, verb := range rule.Verbs {
					all = append(all, strings.TrimSpace(group+" "+on+" "+verb))
				}
			}
		}
	}
	return all
}
