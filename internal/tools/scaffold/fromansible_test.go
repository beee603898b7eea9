package scaffold_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/scaffold"
	"github.com/operon-framework/operon/local/localtest"
)

// A new project has one kind. Further kinds are added to it.
func TestFromAnsible(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kiosk-operator")
	written := carryOut(t, scaffold.FromAnsible{Dir: dir, Group: "roles"})
	want := "README.md config/crd/roles.example.com_kiosks.yaml config/rbac/role.yaml config/samples/kiosk.yaml roles/kiosk/defaults/main.yml roles/kiosk/tasks/main.yml watches.yaml"
	if got := strings.Join(written, " "); got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
	added := carryOut(t, scaffold.API{Dir: dir, Group: "roles", Version: "v1", Kind: "Shelf", ShortName: "sh", Cluster: true, Playbook: true})
	want = "config/crd/roles.example.com_shelves.yaml config/rbac/role.yaml config/samples/shelf.yaml playbooks/shelf.yml roles/shelf/defaults/main.yml roles/shelf/tasks/main.yml watches.yaml"
	if got := strings.Join(added, " "); got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
	p, err := project.Read(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if ansible, err := p.Ansible(); err != nil || !ansible || len(p.CRDs) != 2 || len(p.Grants) != 2 || len(p.Samples) != 2 {
		t.Errorf("the project has Ansible roles: %t, %v, with %d CRDs, %d grants and %d samples", ansible, err, len(p.CRDs), len(p.Grants), len(p.Samples))
	}
	localtest.Shared(t).InstallCRDs(t, filepath.Join(dir, "config/crd")) // the API server accepts the schemas
	if _, err := try(t, scaffold.FromAnsible{Dir: dir}); err == nil || !strings.Contains(err.Error(), "has a watches.yaml already") {
		t.Errorf("a second time: %v", err)
	}
	before := look(t, dir)
	for _, test := range []struct {
		wanted scaffold.API
		want   string
	}{
		{scaffold.API{Group: "roles", Version: "v2", Kind: "Shelf"}, "kind Shelf of roles.example.com already exists"},
		{scaffold.API{Group: "roles", Version: "v1", Kind: "Kiosk", NoController: true}, "--controller=false is for projects with Go sources"},
		{scaffold.API{Group: "roles", Version: "one", Kind: "Rack"}, "one"},
		{scaffold.API{Group: "roles", Version: "v1", Kind: "rack"}, "rack"},
	} {
		test.wanted.Dir = dir
		if _, err := try(t, test.wanted); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s", test.wanted, err, test.want)
		}
	}
	same(t, before, look(t, dir))
}

// Kinds are added to projects of Operator SDK where its own command adds them.
func TestAKindOfOperatorSDKsAnsible(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../project/testdata/ansible-sdk")); err != nil {
		t.Fatal(err)
	}
	carryOut(t, scaffold.API{Dir: dir, Group: "cache", Version: "v1", Kind: "Shelf"})
	for file, want := range map[string]string{
		"watches.yaml":                  "  role: shelf\n  markUnsafe: true # who may create an object cannot evaluate templates in the operator\n# +kubebuilder:scaffold:watch",
		"config/rbac/role.yaml":         "resources: [shelves/status], verbs: [patch]}\n# +kubebuilder:scaffold:rules",
		"config/crd/kustomization.yaml": "- bases/cache.example.com_kiosks.yaml\n- bases/cache.example.com_shelves.yaml\n# +kubebuilder",
	} {
		if content := testaid.Read(t, filepath.Join(dir, file)); !strings.Contains(content, want) {
			t.Errorf("%s is\n%s\nwant %s", file, content, want)
		}
	}
	p, err := project.Read(dir, project.Options{})
	if err != nil || len(p.CRDs) != 2 || len(p.Samples) != 2 {
		t.Errorf("the project has %d CRDs and %d samples (%v)", len(p.CRDs), len(p.Samples), err)
	}
	testaid.Edit(t, filepath.Join(dir, "config/rbac/role.yaml"), "# +kubebuilder:scaffold:rules", "")
	if _, err := try(t, scaffold.API{Dir: dir, Group: "cache", Version: "v1", Kind: "Rack"}); err == nil || !strings.Contains(err.Error(), "config/rbac/role.yaml has no line") {
		t.Errorf("without the line for rules: %v", err)
	}
}

// In a project of charts, kinds come from charts.
func TestAKindOfOperatorSDKsHelm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../project/testdata/helm-sdk")); err != nil {
		t.Fatal(err)
	}
	if _, err := try(t, scaffold.API{Dir: dir, Group: "charts", Version: "v1", Kind: "Shelf"}); err == nil || !strings.Contains(err.Error(), "add an entry with the chart to watches.yaml") {
		t.Errorf("%v", err)
	}
}
