package generate_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/tools/generate"
)

func kubebuilders(t *testing.T, all files) string {
	t.Helper()
	dir := project(t, files{
		"PROJECT":         "domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nprojectName: web\nrepo: example.com/web\nversion: \"3\"\n",
		"cmd/main.go":     "// Package main runs.\npackage main\n\n// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n\nfunc main() {}\n",
		"api/v1/types.go": types,
	})
	write(t, dir, all)
	return dir
}

func TestAMakefileSaysWhatIsGenerated(t *testing.T) {
	t.Parallel()
	dir := kubebuilders(t, files{
		"hack/head.txt": "// Copyright YEAR.\n",
		"Makefile": "CONTROLLER_TOOLS_VERSION ?= v0.19.0\n\nmanifests:\n" +
			"\tcontroller-gen rbac:roleName=boss crd:maxDescLen=0 webhook paths=\"./...\" output:crd:artifacts:config=manifests/crd\n\n" +
			"generate:\n\tcontroller-gen object:headerFile=hack/head.txt,year=2031 paths=\"./...\"\n",
	})
	result := plan(t, dir)
	if changed := apply(t, result); changed != "api/v1/zz_generated.deepcopy.go config/rbac/role.yaml manifests/crd/web.example.com_pages.yaml" {
		t.Errorf("changed %s", changed)
	}
	for file, holds := range map[string]string{
		"api/v1/zz_generated.deepcopy.go":          "// Copyright 2031.",
		"config/rbac/role.yaml":                    "name: boss",
		"manifests/crd/web.example.com_pages.yaml": "controller-gen.kubebuilder.io/version: v0.19.0",
	} {
		if got := read(t, filepath.Join(dir, file)); !strings.Contains(got, holds) || strings.Contains(got, "description:") {
			t.Errorf("%s does not hold %q:\n%s", file, holds, got)
		}
	}
	if notes := strings.Join(result.Notes, "\n"); !strings.Contains(notes, "pins controller-gen v0.19.0") {
		t.Errorf("notes: %s", notes)
	}
}

// Fields that are not exported are ignored if the Makefile says so, as by controller-gen.
func TestUnexportedFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	dir := kubebuilders(t, files{
		"api/v1/types.go": strings.Replace(types, "	Title string", "	cached func()\n	Title string", 1),
		"Makefile":        "manifests:\n\tcontroller-gen crd:ignoreUnexportedFields=true paths=\"./...\" output:crd:artifacts:config=config/crd/bases\n",
	})
	if content, _ := plan(t, dir).Changes.Content("config/crd/bases/web.example.com_pages.yaml"); !strings.Contains(string(content), "title:") {
		t.Errorf("the definition is\n%s", content)
	}
}

func TestWithoutAMakefileItIsTheUsual(t *testing.T) {
	t.Parallel()
	result := plan(t, kubebuilders(t, files{"hack/boilerplate.go.txt": "// Copyright YEAR Us.\n", "operon.yaml": "replicas: 3\nshards: 12\n"}))
	if got := strings.Join(result.Changes.Paths(), " "); got != "api/v1/zz_generated.deepcopy.go config/crd/bases/web.example.com_pages.yaml config/rbac/role.yaml" {
		t.Errorf("it would make %s", got)
	}
	if notes := strings.Join(result.Notes, "\n"); !strings.Contains(notes, "no Makefile here runs controller-gen") || !strings.Contains(notes, "shards in operon.yaml adds no permissions here") {
		t.Errorf("notes: %s", notes)
	}
	methods, _ := result.Changes.Content("api/v1/zz_generated.deepcopy.go")
	if header := "// Copyright " + time.Now().Format("2006") + " Us.\n"; !strings.Contains(string(methods), header) {
		t.Errorf("the code has no header %q:\n%s", header, methods)
	}
}

func TestBadMakefiles(t *testing.T) {
	t.Parallel()
	for arguments, test := range map[string]struct{ flag, line, want string }{
		"crdd paths=./...":               {"", "", `Makefile:2: controller-gen's argument "crdd" is not known`},
		"crd:maxDescLen=x paths=./...":   {"", "", `Makefile:2: controller-gen's argument "crd:maxDescLen=x"`},
		"applyconfiguration paths=./...": {"", "", `Makefile:2: controller-gen's argument "applyconfiguration": apply configurations are not generated`},
		"crd paths=./...":                {"--max-description=3", "", "--max-description has no effect in this project"},
		"rbac paths=./...":               {"", "--docs --role-name boss ..", "cmd/main.go:3: --role-name has no effect in this project"},
	} {
		dir := kubebuilders(t, files{"Makefile": "manifests:\n\tcontroller-gen " + arguments + "\n"})
		if test.line != "" {
			write(t, dir, files{"cmd/main.go": "package main\n\n//go:generate operon generate " + test.line + "\n\nfunc main() {}\n"})
		}
		before := tree(t, dir)
		var flags []string
		if test.flag != "" {
			flags = append(flags, test.flag)
		}
		_, err := generate.Plan(t.Context(), dir, generate.Options{Flags: flags})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", arguments, err)
		}
		same(t, before, tree(t, dir))
	}
}
