package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layer is a layer of the architecture. A package imports packages of lower layers and of its own part.
type layer struct {
	name  string
	about string // for docs/architecture.md
	parts []part
}

// part is a group of directories within a layer that may import each other. Parts of one layer do not import each other. A
// directory includes its subdirectories unless they are listed elsewhere. "" is only the root package.
type part []string

// layers are the layers of each module, from the bottom to the top.
var layers = map[string][]layer{
	"root": {
		{"core", "pure decisions: no client, no clock, no goroutine", []part{{"internal/core", "internal/olm"}}},
		{"vocabulary", "what authors and the runtime speak in: API types, durable work, external resources", []part{{"api", "durable", "external"}}},
		{"runtime", "what runs inside an operator; all I/O of a reconcile is here", []part{{"internal/runtime"}}},
		{"framework", "what an operator's main package imports", []part{{"", "aggregated", "cel", "durable/steps", "durable/artifactstore", "engine"}}},
		{"tools", "what works on projects and clusters; no operator links it but the lifecycle manager", []part{{"internal/tools", "local", "internal/testing", "internal/house"}}},
		{"products", "what the tools add up to; these do not import each other", []part{{"internal/prove", "prove"}, {"internal/ship"}, {"operontest"}, {"aggregated/aggregatedtest"}}},
		{"commands", "flags and printing", []part{{"cmd"}}},
	},
	"cluster": {
		{"parts", "etcd's, the node's and the simulator's building blocks", []part{{
			"cluster/internal", "cluster/internal/pki", "cluster/internal/kubeversion", "cluster/internal/pagecache", "cluster/internal/garbage", "cluster/internal/image",
			"cluster/internal/registry", "cluster/internal/sim", "cluster/internal/metrics", "cluster/internal/node",
		}}},
		{"control plane", "etcd, API server, controller manager and scheduler in one process", []part{{"cluster/internal/controlplane"}}},
		{"instance", "clusters by name, with their state on disk", []part{{"cluster/internal/instance"}}},
		{"command", "flags and printing", []part{{"cluster/cmd"}}},
	},
	"olm": {
		{"parts", "checks of the cluster, images, catalogs of servers, what is shown of packages, and what composers remember", []part{
			{"olm/internal/require"}, {"olm/internal/limit"}, {"olm/internal/serving"}, {"olm/internal/served"}, {"olm/internal/configmap"}, {"olm/internal/packages"}, {"olm/internal/passes"},
		}},
		{"bundles", "what is in catalogs, and the objects that are made of it", []part{{"olm/internal/plan"}, {"olm/internal/catalogs"}}},
		{"kinds", "a composer for each kind", []part{
			{"olm/internal/source"}, {"olm/internal/clustercatalog"}, {"olm/internal/packageserver"},
			{"olm/internal/group", "olm/internal/csv", "olm/internal/installplan", "olm/internal/subscription", "olm/internal/extension"},
		}},
		{"manager", "the program", []part{{"olm"}}},
	},
	"bench": {
		{"report", "how measurements are taken and shown", []part{{"bench/internal"}}},
		{"benchmarks", "one program for each comparison", []part{{"bench"}}},
	},
}

// position is the position of a package in the layers of its module.
type position struct {
	module      string
	layer, part int
}

// positionOf finds the longest directory in layers that contains dir.
func positionOf(dir string) (found position, ok bool) {
	longest := -1
	for _, m := range modules {
		for l, layer := range layers[m.name] {
			for p, part := range layer.parts {
				for _, listed := range part {
					if holds(listed, dir) && len(listed) > longest {
						found, ok, longest = position{m.name, l, p}, true, len(listed)
					}
				}
			}
		}
	}
	return found, ok
}

func holds(listed, dir string) bool {
	return dir == listed || listed != "" && strings.HasPrefix(dir, listed+"/")
}

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, p := range sources(t) {
		own, ok := positionOf(p.dir)
		if !ok {
			t.Errorf("package %q is in no layer: add it to layers_test.go", p.dir)
			continue
		}
		for _, file := range p.files {
			for _, imported := range imports(file) {
				if !allowed(own, imported) {
					t.Errorf("%s: package %q imports %q, which is not in a lower layer or in the same part of its own",
						place(file.Package), p.dir, imported)
				}
			}
		}
	}
}

// allowed reports whether a package at from may import the directory. Other modules can only import modules that they require:
// bench and olm require the root module, and the cluster requires none.
func allowed(from position, dir string) bool {
	to, ok := positionOf(dir)
	switch {
	case !ok:
		return false
	case to.module != from.module:
		return from.module != "cluster" && from.module != "root" && to.module == "root"
	case to.layer != from.layer:
		return to.layer < from.layer
	}
	return to.part == from.part
}

// impure are imports that a pure package must not have.
var impure = []string{
	"net/http", "os", "os/exec", "net", "sync", "log/slog", "k8s.io/client-go", "sigs.k8s.io/controller-runtime/pkg/cache",
	"sigs.k8s.io/controller-runtime/pkg/manager", "sigs.k8s.io/controller-runtime/pkg/controller",
}

// pure are packages outside of the core that say the same of themselves.
var pure = []string{"internal/prove/quiesce", "internal/prove/testplan", "durable/journal", "external", "olm/internal/packages", "olm/internal/serving"}

func TestCoreIsPure(t *testing.T) {
	t.Parallel()
	for _, p := range sources(t) {
		if !strings.HasPrefix(p.dir, "internal/core/") && !strings.HasPrefix(p.dir, "internal/olm/") && !slices.Contains(pure, p.dir) {
			continue
		}
		for _, file := range p.files {
			for _, spec := range file.Imports {
				imported := strings.Trim(spec.Path.Value, `"`)
				for _, refused := range impure {
					if holds(refused, imported) {
						t.Errorf("%s: the core is pure and must not import %s", place(spec.Pos()), imported)
					}
				}
				if dir, own := strings.CutPrefix(imported, modulePath+"/"); own && holds("internal/core", p.dir) && !holds("internal/core", dir) {
					t.Errorf("%s: the core must not import %s", place(spec.Pos()), imported)
				}
			}
			checkPurity(t, file)
		}
	}
}

// heavy are dependencies that are too large for an operator.
var heavy = []string{
	"helm.sh/helm", "sigs.k8s.io/kustomize", "github.com/google/go-containerregistry", "sigs.k8s.io/controller-tools",
	"golang.org/x/tools", "k8s.io/code-generator", "k8s.io/gengo", "k8s.io/kubernetes", "github.com/containerd", "go.etcd.io/etcd", "github.com/spf13/cobra",
	"github.com/google/cel-go", "google.golang.org/grpc", "k8s.io/apiserver", "github.com/aws", "go.opentelemetry.io/contrib",
	"github.com/charmbracelet",
}

func TestOperatorsStayLight(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(output))
	if len(linked) < 100 {
		t.Fatalf("go list found only %d packages", len(linked))
	}
	framework, _ := positionOf("")
	for _, imported := range linked {
		for _, prefix := range heavy {
			if holds(prefix, imported) {
				t.Errorf("an operator links %s, which is too heavy for it", imported)
			}
		}
		if dir, own := strings.CutPrefix(imported, modulePath+"/"); own {
			if at, _ := positionOf(dir); at.layer > framework.layer {
				t.Errorf("an operator links %s, which is a tool", dir)
			}
		}
	}
}
