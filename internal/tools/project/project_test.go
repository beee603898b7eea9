package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Files of a valid project.
const (
	goMod = "module example.com/acme/web-operator/v2\n\ngo 1.26\n\nrequire github.com/operon-framework/operon v0.1.0\n"
	goSrc = "package main\n\nfunc main() { println(\"metrics-secure\") }\n"
	crd   = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: webs.example.com\n"
	role  = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: manager-role\n"
)

type files map[string]string

// write writes a valid project with changed files; "" leaves a file out.
func write(t *testing.T, changes files) string {
	t.Helper()
	all := files{"go.mod": goMod, "main.go": goSrc, "config/crd/webs.yaml": crd, "config/rbac/role.yaml": role}
	for name, content := range changes {
		all[name] = content
	}
	dir := t.TempDir()
	for name, content := range all {
		if content == "" {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, changes files) *project.Project {
	t.Helper()
	p, err := project.Read(write(t, changes), project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReadFindsWhatAnOperonProjectHas(t *testing.T) {
	t.Parallel()
	p := read(t, files{"config/samples/web.yaml": "apiVersion: example.com/v1\nkind: Web\nmetadata:\n  name: one\n"})
	if p.Name != "web-operator" || p.Module.Path != "example.com/acme/web-operator/v2" || p.Module.Framework != project.Operon {
		t.Errorf("name %q, module %+v", p.Name, p.Module)
	}
	if p.Main.Package != "." || !p.Main.Mentions("metrics-secure") || p.Main.Mentions("other") {
		t.Errorf("main package %q", p.Main.Package)
	}
	if len(p.CRDs) != 1 || len(p.Grants) != 1 || len(p.Samples) != 1 {
		t.Fatalf("%d CRDs, %d grants, %d samples", len(p.CRDs), len(p.Grants), len(p.Samples))
	}
	if got := p.Samples[0].Place(); got != "config/samples/web.yaml:1" {
		t.Errorf("the sample is at %s", got)
	}
}

func TestReadFindsTheMainPackage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes files
		want    string
	}{
		"kubebuilder v3":               {files{}, "."},
		"kubebuilder v4":               {files{"main.go": "", "cmd/main.go": goSrc}, "./cmd"},
		"Operator SDK":                 {files{"main.go": "", "cmd/manager/main.go": goSrc}, "./cmd/manager"},
		"a library at the root":        {files{"main.go": "package web\n", "cmd/main.go": goSrc}, "./cmd"},
		"a tool that is not built":     {files{"main.go": "//go:build ignore\n\n" + goSrc, "cmd/main.go": goSrc}, "./cmd"},
		"a file that does not compile": {files{"main.go": "package main\n\nfunc main() {"}, "."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, test.changes).Main.Package; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestTheNameThatTheOperatorHas(t *testing.T) {
	t.Parallel()
	const framework = "import \"github.com/operon-framework/operon\"\n\n"
	for name, test := range map[string]struct {
		changes files
		want    string
	}{
		"a text":                     {files{"main.go": "package main\n\n" + framework + "func main() { operon.Main(\"site\") }\n"}, "site"},
		"a constant in another file": {files{"main.go": "package main\n\n" + framework + "func main() { operon.Main(name) }\n", "name.go": "package main\n\nconst other, name = 1, `site`\n"}, "site"},
		"another import name":        {files{"main.go": "package main\n\nimport framework \"github.com/operon-framework/operon\"\n\nfunc main() { framework.Main(\"site\") }\n"}, "site"},
		"operon.Run":                 {files{"main.go": "package main\n\n" + framework + "func main() { _ = operon.Run(nil, \"site\", nil, operon.Config{}) }\n"}, "site"},
		"computed":                   {files{"main.go": "package main\n\n" + framework + "func main() { operon.Main(name()) }\n"}, ""},
		"another package":            {files{"main.go": "package main\n\nimport \"example.com/operon\"\n\nfunc main() { operon.Main(\"site\") }\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, test.changes).Main.Operator; got != test.want {
				t.Errorf("the name is %q, want %q", got, test.want)
			}
		})
	}
}

func TestReadTakesTheMainPackageThatIsNamed(t *testing.T) {
	t.Parallel()
	dir := write(t, files{"cmd/a/main.go": goSrc, "cmd/b/main.go": goSrc})
	p, err := project.Read(dir, project.Options{Main: "cmd/b"})
	if err != nil || p.Main.Package != "./cmd/b" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := project.Read(dir, project.Options{Main: "cmd"}); err == nil || !strings.Contains(err.Error(), "cmd has no main package") {
		t.Errorf("a directory without one: %v", err)
	}
}

func TestReadFindsKubebuildersName(t *testing.T) {
	t.Parallel()
	if got := read(t, files{"PROJECT": "layout:\n- go.kubebuilder.io/v4\nprojectName: My_Project\n"}).Name; got != "my-project" {
		t.Errorf("got %q", got)
	}
}

// TestReadSaysWhatIsWrong covers all errors. Each error describes what to do.
func TestReadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const sample = "config/samples/web.yaml"
	const good = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"
	for name, test := range map[string]struct {
		changes files
		want    []string
	}{
		"no go.mod":        {files{"go.mod": ""}, []string{"is not an operator project: it has neither a go.mod nor a watches.yaml"}},
		"a broken go.mod":  {files{"go.mod": "module x\nrequire (\n"}, []string{"go.mod:2"}},
		"no module line":   {files{"go.mod": "go 1.26\n"}, []string{"has no module line", "go mod init"}},
		"no main package":  {files{"main.go": ""}, []string{"no main package in ., ./cmd or a directory below ./cmd"}},
		"two of them":      {files{"main.go": "", "cmd/a/a.go": goSrc, "cmd/b/b.go": goSrc}, []string{"several main packages: ./cmd/a, ./cmd/b", "--main"}},
		"no manifests":     {files{"config/crd/webs.yaml": "", "config/rbac/role.yaml": ""}, []string{"neither CustomResourceDefinitions in config/crd nor Roles in config/rbac", "operon generate"}},
		"a foreign kind":   {files{"config/crd/webs.yaml": good}, []string{"config/crd/webs.yaml:1: a ConfigMap; config/crd is for"}},
		"broken YAML":      {files{sample: good + "---\nkind: [a\n"}, []string{sample + ":6: did not find expected"}},
		"a key twice":      {files{sample: "# first\n---\n" + good + "  name: two\n"}, []string{sample + `:7: the key "name" is here a second time, first in line 6`}},
		"no kind":          {files{sample: "apiVersion: v1\nmetadata:\n  name: one\n"}, []string{sample + ":1: not a Kubernetes object: it needs both apiVersion and kind"}},
		"no name":          {files{sample: "---\napiVersion: v1\nkind: ConfigMap\n"}, []string{sample + ":2: the ConfigMap has no metadata.name"}},
		"a list":           {files{sample: "- a\n- b\n"}, []string{sample + ":1: not a Kubernetes object: want a mapping"}},
		"two mistakes":     {files{sample: "a: 1\n", "config/samples/b.yaml": "b: 1\n"}, []string{sample + ":1:", "config/samples/b.yaml:1:"}},
		"a bad list item":  {files{sample: "apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n"}, []string{sample + ":4: not a Kubernetes object"}},
		"a name of no use": {files{"go.mod": "module example.com/___\n"}, []string{`the name "___"`, "no letter or digit"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := project.Read(write(t, test.changes), project.Options{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
		})
	}
}

func TestReadRefusesWhatIsNoFolder(t *testing.T) {
	t.Parallel()
	dir := write(t, nil)
	if _, err := project.Read(filepath.Join(dir, "none"), project.Options{}); err == nil || !strings.Contains(err.Error(), "none does not exist") {
		t.Errorf("none: %v", err)
	}
	if _, err := project.Read(filepath.Join(dir, "go.mod"), project.Options{}); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("a file: %v", err)
	}
}

func TestReadManifestsKeepsTheOldOnesOnAnError(t *testing.T) {
	t.Parallel()
	p := read(t, nil)
	broken := filepath.Join(p.Dir, "config/rbac/role.yaml")
	if err := os.WriteFile(broken, []byte("kind: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.ReadManifests(); err == nil {
		t.Error("no error")
	}
	if len(p.Grants) != 1 {
		t.Errorf("%d grants", len(p.Grants))
	}
}

func TestNameOfNeedsNoManifests(t *testing.T) {
	t.Parallel()
	dir := write(t, files{"main.go": "", "config/crd/webs.yaml": "kind: [\n"})
	name, absolute, err := project.NameOf(dir)
	if name != "web-operator" || absolute != dir || err != nil {
		t.Errorf("%q %q %v", name, absolute, err)
	}
}
