package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	helmchart "helm.sh/helm/v4/pkg/chart/v2/util"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/internal/tools/scaffold"
)

// Names of the operators that are compared.
const (
	operonName = "operon"
	peerName   = "as Operator SDK"
)

// kind is the kind of the objects.
var kind = schema.GroupVersionKind{Group: "bench.example.com", Version: "v1", Kind: "Stand"}

// world is a cluster and an operator.
type world struct {
	settings
	*cluster.Cluster
	// name is the name of the operator.
	name    string
	project string
	process *exec.Cmd
}

// measureIn measures an operator in a new cluster.
func measureIn(ctx context.Context, s settings, name string, measure func(context.Context, *world) (*measurement, error)) (m *measurement, err error) {
	dir, err := os.MkdirTemp("", "operon-bench-engines-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := &world{settings: s, name: name, project: filepath.Join(dir, "stand-operator")}
	if err := w.create(ctx, dir); err != nil {
		return nil, err
	}
	crds, err := glob.In(filepath.Join(w.project, "config", "crd"), "*.yaml")
	if err != nil || len(crds) != 1 {
		return nil, fmt.Errorf("the project has the CRDs %q (%w)", crds, err)
	}
	crd, err := os.ReadFile(crds[0])
	if err != nil {
		return nil, err
	}
	w.Cluster, err = cluster.Start(ctx, cluster.Options{
		Name: "bench-engines", CRD: crd, API: func(*runtime.Scheme) error { return nil }, AuditPolicy: auditPolicy,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.stop(), w.Cluster.Stop()) }()
	return measure(ctx, w)
}

// create creates the project.
func (w *world) create(ctx context.Context, dir string) error {
	var plan interface {
		Plan(context.Context, func(string)) (*scaffold.Plan, error)
	}
	if w.engine == "ansible" {
		plan = scaffold.FromAnsible{Dir: w.project, Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
	} else {
		chart, err := helmchart.Create("stand", dir)
		if err != nil {
			return err
		}
		plan = scaffold.FromChart{Dir: w.project, Chart: chart, Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
	}
	planned, err := plan.Plan(ctx, func(string) {})
	if err != nil {
		return err
	}
	_, err = planned.Apply(ctx)
	return err
}

// start runs the operator.
func (w *world) start(ctx context.Context) error {
	program, args := "", []string{"--peer", w.engine, "--cluster", w.Kubeconfig, "--project", w.project}
	if w.name == operonName {
		program, args = filepath.Join(filepath.Dir(w.project), "operon-engine"), []string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}
		if _, err := os.Stat(program); err != nil {
			if err := report.Build(ctx, ".", "./cmd/operon-engine", program); err != nil {
				return err
			}
		}
	} else {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		program = self
	}
	w.process = exec.CommandContext(ctx, program, args...)
	w.process.Dir, w.process.Stderr = w.project, os.Stderr
	w.process.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig, "POD_NAMESPACE=default", "ANSIBLE_GATHERING=explicit")
	if w.name == operonName {
		w.process.Stderr = nil // its log
	}
	return w.process.Start()
}

// stop ends the operator.
func (w *world) stop() error {
	if w.process == nil || w.process.ProcessState != nil {
		return nil
	}
	if err := w.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err := w.process.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil // an operator that is stopped may end with any exit code
	}
	return err
}

// restart stops the operator and starts it again.
func (w *world) restart(ctx context.Context) error {
	if err := w.stop(); err != nil {
		return err
	}
	return w.start(ctx)
}

// fill creates the objects with numbers from first to before last.
func (w *world) fill(ctx context.Context, first, last int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := first; i < last; i++ {
		group.Go(func() error {
			object := newObject(i)
			object.Object["spec"] = map[string]any{}
			return w.Client.Create(ctx, object)
		})
	}
	return group.Wait()
}

// newObject returns an object without content.
func newObject(i int) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(metav1.NamespaceDefault)
	object.SetName("stand-" + strconv.Itoa(i))
	return object
}

// await waits until a condition is true for a number of objects.
func (w *world) await(ctx context.Context, condition string, count int) error {
	return w.until(ctx, func() (int, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := w.Client.List(ctx, list); err != nil {
			return 0, err
		}
		met := 0
		for i := range list.Items {
			if isTrue(&list.Items[i], condition) {
				met++
			}
		}
		return met, nil
	}, count)
}

// until waits until a count is reached.
func (w *world) until(ctx context.Context, look func() (int, error), count int) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := look()
		if n >= count || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// isTrue reports whether a condition is true for the current generation of an object, or for no generation in particular.
func isTrue(object *unstructured.Unstructured, name string) bool {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, one := range conditions {
		condition, ok := one.(map[string]any)
		if !ok || condition["type"] != name || condition["status"] != "True" {
			continue
		}
		generation, given := condition["observedGeneration"].(int64)
		return !given || generation == object.GetGeneration()
	}
	return false
}

// settle returns when the operator has used next to no processor time for a while, or after timing.patience: the classic Helm operator
// reconciles all the time.
func (w *world) settle(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < timing.patience; {
		before, err := treeCPU(w.process.Process.Pid)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(timing.settled):
		}
		after, err := treeCPU(w.process.Process.Pid)
		if err != nil || after-before < timing.settled/50 {
			return err
		}
	}
	return nil
}

// rest measures the steady operator.
func (m *measurement) rest(ctx context.Context, w *world) error {
	before, err := treeCPU(w.process.Process.Pid)
	if err != nil {
		return err
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(w.idle):
	}
	after, err := treeCPU(w.process.Process.Pid)
	if err != nil {
		return err
	}
	m.idleCPU = after - before
	if m.idleRequests, err = requestsSince(w.Audit, began); err != nil {
		return err
	}
	m.memory, err = treeMemory(w.process.Process.Pid)
	return err
}

// median returns the median as the only value.
func median(values []time.Duration) []time.Duration {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2 : len(sorted)/2+1]
}
