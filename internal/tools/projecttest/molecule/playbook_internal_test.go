package molecule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local/localtest"
)

// playerOf writes files of a project and returns a player of its scenario, without a cluster.
func playerOf(t *testing.T, files map[string]string) (*Player, *bytes.Buffer) {
	t.Helper()
	testaid.NeedsAnsible(t)
	dir := t.TempDir()
	for name, text := range files {
		testaid.Write(t, filepath.Join(dir, name), text)
	}
	s, err := Find(dir, "default")
	if err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	p, err := s.Player(filepath.Join(t.TempDir(), "scenario"), "test-system", []byte("kubeconfig"), out)
	if err != nil {
		t.Fatal(err)
	}
	return p, out
}

// verify runs verify.yml.
func (p *Player) verify(t *testing.T, out *bytes.Buffer) error {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(out)
		}
	})
	return p.Play(t.Context(), p.Steps()[0])
}

const play = "- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n"

// Playbooks get the variables, the environment, the options and the roles that molecule gives them.
func TestPlaybooksGetWhatMoleculeGives(t *testing.T) {
	t.Parallel()
	p, out := playerOf(t, map[string]string{
		"molecule/default/molecule.yml": `
platforms:
- {name: one, groups: [k8s], children: [small]}
provisioner:
  config_options: {defaults: {hash_behaviour: merge}}
  options: {extra-vars: from_option=yes, v: true}
  ansible_args: [--extra-vars, from_args=yes]
  env:
    GIVEN: ${UNSET_VARIABLE:-given}
    KUBECONFIG: /elsewhere
  inventory:
    hosts: {all: {hosts: {two: {ansible_connection: local}}}}
    group_vars:
      all: {namespace: '${TEST_OPERATOR_NAMESPACE:-osdk-test}', number: 3, merged: {a: 1}}
      small: {size: small}
    host_vars:
      localhost: {config_dir: '${MOLECULE_PROJECT_DIRECTORY}/config', merged: {b: 2}}
verifier: {env: {ONLY: verify}}
`,
		"roles/greet/tasks/main.yml":             "- set_fact: {greeting: hello}\n",
		"molecule/default/files/beside":          "beside",
		"molecule/default/group/unused_test.yml": "",
		"molecule/default/verify.yml": play + `
  - include_role: {name: greet}
  - assert:
      that:
      - namespace == 'test-system' and number == 3
      - project_dir == lookup('env', 'MOLECULE_PROJECT_DIRECTORY')
      - samples_dir == project_dir + '/config/samples' and config_dir == project_dir + '/config'
      - playbook_dir == lookup('env', 'MOLECULE_SCENARIO_DIRECTORY') and molecule_scenario_directory == playbook_dir
      - lookup('env', 'MOLECULE_SCENARIO_NAME') == 'default' and molecule_yml.platforms[0].name == 'one'
      - lookup('env', 'GIVEN') == 'given' and lookup('env', 'ONLY') == 'verify'
      - lookup('env', 'KUBECONFIG') == kubeconfig and lookup('env', 'K8S_AUTH_KUBECONFIG') == kubeconfig
      - lookup('file', kubeconfig) == 'kubeconfig'
      - lookup('env', 'K8S_AUTH_HOST') == ''
      - from_option == 'yes' and from_args == 'yes' and greeting == 'hello'
      - "merged == {'a': 1, 'b': 2}"
      - groups['k8s'] == ['one'] and groups['small'] == ['one'] and 'two' in groups['all']
      - hostvars['one'].size == 'small'
      - operator_image and ansible_verbosity == 1
  - stat: {path: '{{ kubeconfig }}'}
    register: file
  - assert: {that: file.stat.mode == '0600'}
  - fail: {msg: skipped by its tag}
    tags: [molecule-notest]
`,
	})
	if err := p.verify(t, out); err != nil {
		t.Error(err)
	}
}

// The failure of a playbook is that of the task that failed first for its own reasons.
func TestTheTaskThatFailed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tasks, message string
		task           Task
	}{
		"in a role": {"  - include_role: {name: broken}\n", "no luck", Task{Name: "try", Role: "broken", File: "roles/broken/tasks/main.yml", Line: 2}},
		"after one that was rescued": {
			"  - block: [{name: a, fail: {msg: a}}]\n    rescue: [{name: b, debug: {msg: b}}]\n  - name: c\n    fail: {msg: c}\n", "c",
			Task{Name: "c", File: "molecule/default/verify.yml", Line: 7},
		},
		"before one in rescue": {
			"  - block: [{name: a, fail: {msg: a}}]\n    rescue: [{name: b, fail: {msg: b}}]\n", "a", Task{Name: "a", File: "molecule/default/verify.yml", Line: 5},
		},
		"ignored before": {
			"  - name: a\n    fail: {msg: a}\n    ignore_errors: true\n  - name: b\n    command: 'false'\n", "non-zero return code", Task{Name: "b", File: "molecule/default/verify.yml", Line: 8},
		},
		"in a loop": {
			"  - name: a\n    fail: {msg: 'not {{ item }}'}\n    when: item == 2\n    loop: [1, 2, 3]\n", "not 2", Task{Name: "a", File: "molecule/default/verify.yml", Line: 5},
		},
		"with a secret": {
			"  - name: a\n    fail: {msg: secret}\n    no_log: true\n", "the task failed; its result is hidden because it has no_log", Task{Name: "a", File: "molecule/default/verify.yml", Line: 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out := playerOf(t, map[string]string{
				"molecule/default/verify.yml": play + test.tasks, "roles/broken/tasks/main.yml": "---\n- name: try\n  fail: {msg: no luck}\n",
			})
			err := p.verify(t, out)
			failed, ok := errors.AsType[*TaskError](err)
			if !ok || failed.Message != test.message || failed.Task != test.task {
				t.Errorf("got %#v, want %q in %+v", err, test.message, test.task)
			}
		})
	}
}

// Playbooks that cannot be read, and playbooks that do nothing, fail.
func TestPlaybooksThatDoNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- hosts: localhost\n  tasks: [{nothing: {}}]\n": "couldn't resolve module/action 'nothing'",
		"- hosts: [\n": "ERROR! We were unable to read",
		"- hosts: servers\n  tasks: [{debug: {}}]\n":                                           "no task was run",
		"- hosts: localhost\n  gather_facts: false\n  tasks: []\n":                             "no task was run",
		"- hosts: localhost\n  gather_facts: false\n  tasks: [{include_tasks: nowhere.yml}]\n": "Could not find or access",
		"- hosts: localhost\n  connection: local\n  roles: [not-in-here]\n":                    "the role 'not-in-here' was not found",
	} {
		p, out := playerOf(t, map[string]string{"molecule/default/verify.yml": text})
		if err := p.verify(t, out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// A process that left the process group of its playbook is ended with the playbook, and so is one of an earlier test.
func TestProcessesThatTasksLeave(t *testing.T) {
	t.Parallel()
	started := filepath.Join(t.TempDir(), "started")
	p, out := playerOf(t, map[string]string{
		"molecule/default/verify.yml": play + "  - shell: setsid sh -c 'echo $$ > " + started + "; exec sleep 3600' > /dev/null 2>&1 < /dev/null &\n" +
			"  - wait_for: {path: " + started + "}\n",
	})
	if err := p.verify(t, out); err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(testaid.Read(t, started))
	localtest.Eventually(t, "the process, which was killed, has ended", func(context.Context) error {
		if state, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(state), ") Z ") {
			return fmt.Errorf("process %s is left: %s", pid, state)
		}
		return nil
	})
	if n := kill(p.space); n != 0 {
		t.Errorf("%d processes were left", n)
	}
	other := exec.CommandContext(t.Context(), "sleep", "3600")
	other.Env = append(os.Environ(), "OPERON_TEST_RUN="+p.space.dir+"x")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Wait() }()
	defer func() { _ = other.Process.Kill() }()
	if n := kill(p.space); n != 0 {
		t.Error("a process of another test was killed")
	}
}

// A playbook ends with its context, and the error names the task.
func TestAPlaybookEndsWithItsContext(t *testing.T) {
	t.Parallel()
	started := filepath.Join(t.TempDir(), "started")
	p, _ := playerOf(t, map[string]string{"molecule/default/verify.yml": play + "  - name: hang\n    shell: touch " + started + "; sleep 3600\n"})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
			if _, err := os.Stat(started); err == nil || t.Context().Err() != nil {
				tick.Stop()
				cancel(errors.New("enough"))
				return
			}
		}
	}()
	err := p.play(ctx, "verify", filepath.Join(p.dir, "verify.yml"))
	if failed, ok := errors.AsType[*TaskError](err); !ok || failed.Message != "enough" || failed.Task.Name != "hang" || failed.Task.Line != 5 {
		t.Errorf("%#v", err)
	}
}

// The program kustomize leaves the overlays of the operator alone, and passes everything else on.
func TestKustomize(t *testing.T) {
	t.Parallel()
	real := filepath.Join(t.TempDir(), "real")
	testaid.Program(t, real, "#!/bin/sh\necho real $*\n")
	dir := t.TempDir()
	for _, below := range []string{"config/testing", "config/samples", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w, err := newWorkspace(filepath.Join(t.TempDir(), "scenario"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ at, arguments, want string }{
		{"config/testing", "edit set image testing=x", ""},
		{"config/testing", "build --load-restrictor LoadRestrictionsNone", ""},
		{".", "build config/testing", ""},
		{"other", "build ../config/testing", ""},
		{"other", "build", "real build\n"},
		{".", "build config/samples", "real build config/samples\n"},
		{".", "build other", "real build other\n"},
	} {
		command := exec.CommandContext(t.Context(), filepath.Join(w.file("bin"), "kustomize"), strings.Fields(test.arguments)...)
		command.Dir = filepath.Join(dir, test.at)
		command.Env = append(os.Environ(), "OPERON_TEST_CONFIG="+filepath.Join(dir, "config"), "OPERON_TEST_KUSTOMIZE="+real)
		if out, err := command.CombinedOutput(); err != nil || string(out) != test.want {
			t.Errorf("in %s, kustomize %s: %q, %v", test.at, test.arguments, out, err)
		}
	}
}
