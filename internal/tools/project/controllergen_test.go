package project_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/tools/project"
)

func controllerGen(t *testing.T, changes files) *project.ControllerGen {
	t.Helper()
	tool, err := project.ReadControllerGen(write(t, changes))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// calls formats the version and the runs, one in a line.
func calls(tool *project.ControllerGen) string {
	if tool == nil {
		return "none"
	}
	lines := []string{tool.Version}
	for _, run := range tool.Runs {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", run.Place(), run.Target, run.Dir, strings.Join(run.Arguments, " | ")))
	}
	return strings.Join(lines, "\n")
}

func TestControllerGenIsReadFromAMakefile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ makefile, want string }{
		"as kubebuilder's v4 writes it": {`
LOCALBIN ?= $(shell pwd)/bin
CONTROLLER_GEN ?= $(LOCALBIN)/controller-gen
CONTROLLER_TOOLS_VERSION ?= v0.18.0
YEAR ?= $(shell date +%Y)

.PHONY: manifests
manifests: controller-gen ## Generate what is applied.
	"$(CONTROLLER_GEN)" rbac:roleName=manager-role crd webhook paths="./..." output:crd:artifacts:config=config/crd/bases

generate: controller-gen
	$(CONTROLLER_GEN) object:headerFile="hack/boilerplate.go.txt",year=$(YEAR) paths="./..."

controller-gen: $(CONTROLLER_GEN)
$(CONTROLLER_GEN): $(LOCALBIN)
	$(call go-install-tool,$(CONTROLLER_GEN),sigs.k8s.io/controller-tools/cmd/controller-gen,$(CONTROLLER_TOOLS_VERSION))

define go-install-tool
@[ -f "$(1)-$(3)" ] || { \
set -e; \
GOBIN=$(LOCALBIN) go install $(2)@$(3) ;\
} ;\
ln -sf $(1)-$(3) $(1)
endef
`, `v0.18.0
Makefile:9 manifests .: rbac:roleName=manager-role | crd | webhook | paths=./... | output:crd:artifacts:config=config/crd/bases
Makefile:12 generate .: object:headerFile=hack/boilerplate.go.txt,year=` + time.Now().Format("2006") + ` | paths=./...`},
		"as kubebuilder's v2 wrote it": {`
CRD_OPTIONS ?= "crd:trivialVersions=true,preserveUnknownFields=false"
ifeq (,$(shell go env GOBIN))
GOBIN=$(shell go env GOPATH)/bin
else
GOBIN=$(shell go env GOBIN)
endif
manifests: controller-gen
	$(CONTROLLER_GEN) $(CRD_OPTIONS) rbac:roleName=manager-role webhook paths="./..." \
		output:crd:artifacts:config=config/crd/bases
generate: controller-gen
	$(CONTROLLER_GEN) object:headerFile="hack/boilerplate.go.txt" paths="./..."
controller-gen:
ifeq (, $(shell which controller-gen))
	@{ \
	set -e ;\
	cd $$(mktemp -d) ;\
	go get sigs.k8s.io/controller-tools/cmd/controller-gen@v0.4.1 ;\
	}
CONTROLLER_GEN=$(GOBIN)/controller-gen
else
CONTROLLER_GEN=$(shell which controller-gen)
endif
`, `v0.4.1
Makefile:9 manifests .: crd:trivialVersions=true,preserveUnknownFields=false | rbac:roleName=manager-role | webhook | paths=./... | output:crd:artifacts:config=config/crd/bases
Makefile:12 generate .: object:headerFile=hack/boilerplate.go.txt | paths=./...`},
		"through other targets, in a directory, by go run": {`
GEN = go run sigs.k8s.io/controller-tools/cmd/controller-gen@$(V)
V := v0.16.5
generate: generate-api
generate-api:
	cd api && GOFLAGS=-mod=mod $(GEN) object paths=./... 2>/dev/null && echo done
docs:
	$(GEN) crd paths=./... output:dir=docs
`, `v0.16.5
Makefile:6 generate-api api: object | paths=./...`},
		"without the usual targets":   {"x:\n\tgo tool controller-gen crd paths={./a,./b}\n", "\nMakefile:2 x .: crd | paths={./a,./b}"},
		"a tool that nobody can find": {"GEN := $(shell hack/tool.sh)\nmanifests:\n\t$(GEN) crd paths=./...\n", "\nMakefile:3 manifests .: crd | paths=./..."},
		"vendored":                    {"x:\n\tgo run -mod vendor ./vendor/sigs.k8s.io/controller-tools/cmd/controller-gen crd paths=./...\n", "\nMakefile:2 x .: crd | paths=./..."},
		"in another directory":        {"x:\n\tgo -C a/b run -modfile t.mod sigs.k8s.io/controller-tools/cmd/controller-gen crd paths=$(CURDIR)/...\n", "\nMakefile:2 x a/b: crd | paths=../../..."},
		"a file that need not exist":  {"-include none.mk\nx:\n\tcontroller-gen crd $(MORE) paths=./...\n", "\nMakefile:3 x .: crd | paths=./..."},
		"a package nobody can find":   {"GEN := $(shell hack/tool.sh)\nmanifests:\n\tgo run $(GEN) crd paths=./...\n", "\nMakefile:3 manifests .: crd | paths=./..."},
		"no run that generates":       {"x: ; controller-gen --version\n", "none"},
		"nothing at all":              {"all:\n\tgo build ./...\n", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := calls(controllerGen(t, files{"Makefile": test.makefile})); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestControllerGenIsReadFromWhatAMakefileIncludes(t *testing.T) {
	t.Parallel()
	tool := controllerGen(t, files{"Makefile": "include gen.mk\n-include none.mk\ninclude ../outside.mk\n", "gen.mk": "manifests:\n\tgo tool controller-gen crd paths=./...\n",
		"go.mod": "module a\n\nrequire sigs.k8s.io/controller-tools v0.17.2\n"})
	if got, want := calls(tool), "v0.17.2\ngen.mk:2 manifests .: crd | paths=./..."; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if tool := controllerGen(t, nil); tool != nil {
		t.Errorf("a project without a Makefile has %+v", tool)
	}
}

func TestControllerGenIsNotGuessed(t *testing.T) {
	t.Parallel()
	for makefile, want := range map[string]string{
		"manifests:\n\tcontroller-gen crd paths=$$DIR/...\n":                                 `Makefile:2: only make or a shell can tell the argument "paths=…/..." of controller-gen`,
		"manifests:\n\tcd $(shell mktemp -d); controller-gen crd paths=.":                    "Makefile:2: the directory in which controller-gen runs here",
		"ifdef A\nC = crd\nelse\nC = rbac\nendif\nmanifests:\n\tcontroller-gen $(C) paths=.": `Makefile:7: only make or a shell can tell the argument "…" of controller-gen`,
		"manifests:\nifdef A\n\tcontroller-gen crd paths=.\nendif\n":                         "Makefile:3: whether controller-gen runs here depends on a condition of the Makefile",
		"manifests: P = a\nmanifests:\n\tcontroller-gen crd paths=$(P)\n":                    `Makefile:3: only make or a shell can tell the argument "paths=…"`,
		"include ../all.mk\nmanifests:\n\tcontroller-gen $(C) paths=./...\n":                 `Makefile:3: only make or a shell can tell the argument "…"`,
		"-include ../all.mk\nmanifests:\n\tcontroller-gen $(C) paths=./...\n":                `Makefile:3: only make or a shell can tell the argument "…"`,
		"ifdef A\nmanifests:\n\tcontroller-gen crd paths=.":                                  "Makefile:1: the condition that begins here has no endif",
		"define A\nmanifests:\n\tcontroller-gen crd paths=.":                                 "Makefile:1: the define that begins here has no endef",
	} {
		_, err := project.ReadControllerGen(write(t, files{"Makefile": makefile}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", makefile, err, want)
		}
	}
}
