package molecule

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	env := environment{"SET": "value", "EMPTY": "", "OTHER": "other"}
	for text, want := range map[string]string{
		"$SET ${SET}": "value value", "[$UNSET${UNSET}]": "[]", "${UNSET:-a b}${EMPTY:-c}${SET:-d}": "a bcvalue",
		"${UNSET-a}[${EMPTY-c}]": "a[]", "${UNSET:-$OTHER}${UNSET-$OTHER}": "otherother", `${UNSET:-""}`: `""`,
		"$$SET $${SET}": "$SET ${SET}", "{{ x }} $(y) $1": "{{ x }} $(y) $1", "${UNSET:-{{ x }}": "{{ x }",
	} {
		if got := env.expand(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// scenarioOf writes files of a project and reads its scenario.
func scenarioOf(t *testing.T, name string, files map[string]string) (*Scenario, error) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range files {
		testaid.Write(t, filepath.Join(dir, file), text)
	}
	return Find(dir, name)
}

func TestScenariosThatCannotRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scenario, settings, want string
	}{
		"an unknown name":     {"upgrade", "{}", `the project has no scenario "upgrade": there is no directory`},
		"the names of others": {"upgrade", "{}", "; there is default"},
		"a path":              {"../molecule/default", "{}", "no scenario"},
		"no YAML":             {"default", "a: [", "molecule/default/molecule.yml: yaml: line 1"},
		"a wrong type":        {"default", "platforms: 3\n", "molecule/default/molecule.yml: yaml: unmarshal errors:\n  line 1"},
		"another verifier":    {"default", "verifier: {name: testinfra}", "the verifier testinfra is not supported: want ansible"},
		"links":               {"default", "provisioner: {inventory: {links: {hosts: ../hosts}}}", "provisioner.inventory.links is not supported"},
	} {
		_, err := scenarioOf(t, test.scenario, map[string]string{"molecule/default/molecule.yml": test.settings})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	if s, err := scenarioOf(t, "", nil); s != nil || err != nil {
		t.Errorf("without a scenario: %v, %v", s, err)
	}
}

func TestStepsAndPlaybooks(t *testing.T) {
	t.Parallel()
	s, err := scenarioOf(t, "kind", map[string]string{
		"molecule/kind/molecule.yml":     "provisioner: {playbooks: {prepare: ../default/prepare.yml, converge: nowhere.yml, kind: {verify: x.yml}}}\nscenario: {test_sequence: [destroy, create, prepare, verify, prepare]}\n",
		"molecule/kind/verify.yaml":      "",
		"molecule/default/prepare.yml":   "",
		"molecule/kind/tasks/a_test.yml": "",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.steps(), []string{"prepare", "verify", "prepare"}; !slices.Equal(got, want) || !s.tests() {
		t.Errorf("got %q, want %q", got, want)
	}
	for step, want := range map[string]string{"prepare": "molecule/default/prepare.yml", "verify": "molecule/kind/verify.yaml", "cleanup": ""} {
		got, err := s.playbook(step)
		if got != "" {
			got = s.relative(got)
		}
		if err != nil || got != want {
			t.Errorf("%s: got %q, want %q, %v", step, got, want, err)
		}
	}
	if _, err := s.playbook("converge"); err == nil || err.Error() != "the playbook molecule/kind/nowhere.yml of converge does not exist" {
		t.Errorf("%v", err)
	}
	for settings, want := range map[string]string{
		"all: {namespace: mine}": "mine", "all: {namespace: '{{ x }}'}": "given", "all: {namespace: $TEST_OPERATOR_NAMESPACE}": "given", "{}": "given",
	} {
		s := &Scenario{content: []byte("provisioner: {inventory: {group_vars: {" + strings.Trim(settings, "{}") + "}}}")}
		if strings.Contains(settings, ":") {
			s.content = []byte("provisioner:\n  inventory:\n    group_vars:\n      " + settings + "\n")
		}
		env := environment{"TEST_OPERATOR_NAMESPACE": "given"}
		if err := s.read(env); err != nil || s.namespace(env) != want {
			t.Errorf("%s: got %s, want %s, %v", settings, s.namespace(env), want, err)
		}
	}
}
