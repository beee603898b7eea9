package house

import (
	"go/ast"
	"strings"
	"testing"
)

// budget limits a package: its lines of code without tests and generated files, and its exported names (functions and types;
// constants of closed sets do not count).
type budget struct{ lines, exported int }

// usual is the budget of a package that is not listed in budgets.
var usual = budget{lines: 1500, exported: 24}

// totalLines limits all modules and examples together, without internal/testing, which only tests and benchmarks import. The goal
// is 98,000, and 20,000 for the lifecycle manager, its resolver and its catalogs.
const totalLines = 178_905

// budgets are the budgets of packages that need more. Raise one only with a reason in the commit message. Lower it when a
// package shrinks.
var budgets = map[string]budget{
	// Packages in which authors find everything in one place: the root package and the vocabularies of external resources and
	// roles.
	"":                        {3030, 69},
	"external":                {860, 45},
	"internal/runtime/author": {730, 42},

	"internal/runtime/reconcile": {3930, 18}, // fifteen steps, one file each, with kinds that are removed at run time
	"internal/runtime/shard":     {1820, 8},
	"internal/runtime/webhook":   {2780, 17},
	"operontest":                 {3690, 21}, // with every write that a client can make
	"internal/testing/boxtest":   {1100, 34}, // code that the tests of eleven packages share
	"internal/olm/api/v1alpha1":  {750, 50},  // the kinds of one API
	"engine/ansible":             {1530, 24}, // with fields that must not become variables of Ansible itself
	"engine/helm":                {2640, 10}, // rendering, values, lookup, generated values, hooks with what each of them leaves, take-over: each needs the others

	"internal/prove/oracle":       {2500, 8}, // with what follows from accepted findings, and changes that visibly cannot be applied
	"internal/prove/proxy":        {2930, 8},
	"internal/prove/report":       {2660, 26}, // with runs that could not be completed
	"internal/prove/runner":       {3218, 13},
	"internal/prove/workload":     {1890, 18},
	"prove":                       {2560, 14}, // with pauses of operators, outages of the cluster, and values that webhooks might reject
	"internal/ship/build":         {1880, 24}, // with Debian packages, programs of release archives, and git submodules
	"internal/ship/bundle":        {3690, 30}, // two layouts, 32 rules, and CRDs of v1beta1 in v1
	"internal/ship/catalog":       {2250, 26}, // reading, also object by object, with lists of ignored files, checking, making, saving, comparing, drawing
	"internal/ship/deploy":        {3630, 13}, // with permissions by name, what an interruption leaves, registrations that outlive a version, deployments at the same time, and outages
	"internal/ship/image":         {1782, 23}, // with an index in which names move
	"internal/ship/bundle/create": {1600, 24}, // all that a CSV has: kinds, descriptors, permissions, webhooks, dependencies, digests
	"internal/tools/generate":     {2680, 6},
	"internal/tools/project":      {2400, 36}, // with operators without Go: where their program is built, and the CRDs of charts; limits of hostile manifests, and their values from nodes
	"internal/tools/scaffold":     {3860, 15}, // with projects of charts and of roles
	"internal/tools/olm":          {2180, 37}, // the objects of seven kinds, the bill, and explanations, which need the same state
	"internal/tools/up":           {3582, 14}, // with what `operon test` needs of a running operator, and the Lease of a working copy
	"aggregated":                  {1640, 24}, // with subresources
	"cmd/operon":                  {5545, 1},  // with a cluster that may need another program, images of catalogs, serving and changing them, ten commands for the lifecycle manager, and faults in operators of bundles
	"cluster/internal/instance":   {2440, 20}, // with kubeconfigs that outlive crashes, the logs of clusters that crashed, and the state of a node that is not ready
	"cluster/internal/node":       {1570, 24}, // with what the node takes from the machine and gives back
	"cluster/internal/sim":        {2500, 5},  // with sources of claims

	"olm/internal/csv": {2250, 4}, // what runs for a version, its place beside the versions before and after it, and what OLM has left of it
	// Nine stages on one cluster, and the operator as a process with what its pods have.
	"internal/ship/bundle/bundletest": {2390, 8},
	// What the lifecycle manager makes of a CSV, counted a second time, and upgrade graphs.
	"internal/ship/bundle/check": {1850, 24},

	"internal/olm/resolve":           {2350, 21}, // the choice, its clauses and its reasons in words need the same state
	"internal/tools/doctor/code":     {1980, 24}, // rules that follow calls from Reconcile, so that they report only what each reconcile does
	"internal/tools/doctor/manifest": {1540, 24}, // what kustomize builds, and definitions that are no longer there
	"internal/tools/doctor/rule":     {1100, 26},
	"internal/tools/rbac/derive":     {2710, 6},
}

func TestPackagesStayWithinTheirBudget(t *testing.T) {
	t.Parallel()
	total := 0
	for _, p := range selected(t, func(p *pkg) bool { return len(p.files) > 0 }) {
		lines, exported := 0, 0
		for _, file := range p.files {
			lines += linesOf(file)
			exported += exportedNames(file)
		}
		if !strings.HasPrefix(p.dir, "internal/testing") {
			total += lines
		}
		limit, listed := budgets[p.dir]
		if !listed {
			limit = usual
		}
		if lines > limit.lines || exported > limit.exported {
			t.Errorf("package %q has %d lines and %d exported names, its budget is %d and %d: split it, or say in budget_test.go why it needs more",
				p.dir, lines, exported, limit.lines, limit.exported)
		}
	}
	if total > totalLines {
		t.Errorf("the project has %d lines of code without tests, the limit is %d", total, totalLines)
	}
	t.Logf("%d lines of code without tests", total)
}

// leastRatio is how many lines of tests the runtime has for each line of code, at least.
const leastRatio = 0.9

func TestTheRuntimeIsTested(t *testing.T) {
	t.Parallel()
	code, tests := 0, 0
	for _, p := range selected(t, func(p *pkg) bool { return strings.HasPrefix(p.dir, "internal/runtime") }) {
		for _, file := range p.files {
			code += linesOf(file)
		}
		for _, file := range p.tests {
			tests += linesOf(file)
		}
	}
	ratio := float64(tests) / float64(code)
	if ratio < leastRatio {
		t.Errorf("internal/runtime has %d lines of tests for %d lines of code, %.2f; want at least %.2f", tests, code, ratio, leastRatio)
	}
	t.Logf("%d lines of tests for %d lines of code: %.2f", tests, code, ratio)
}

// exportedNames counts the exported functions and types in a file, without methods.
func exportedNames(file *ast.File) int {
	count := 0
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				count++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok && named.Name.IsExported() {
					count++
				}
			}
		}
	}
	return count
}
