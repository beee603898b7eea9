package runner

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/quiesce"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
)

// world is one run of a plan.
type world struct {
	*Stage
	plan      testplan.Plan
	pace      Pace
	namespace string
	scene     *clusterwatch.Scene
	wide      *clusterwatch.Scene // the cluster-scoped objects
	began     time.Time
	first     map[string]bool
	applied   []spot // objects outside the namespace that the workload wrote
	glance    glance
	deeds     []deed    // of the step
	waited    time.Time // when a change was last found to be late
	rhythm    requestlog.Rhythm
	started   time.Time // the start of an instance that starting measures
	starting  quiesce.Hourglass

	proxy  *proxy.Proxy
	script *fault.Script
	life   *life
	trace  *runlog.Trace
}

// Carry executes a plan and returns the trace of the run. An error says why the plan could not be executed. Bugs of the
// operator are not errors: they are in the trace. If ctx ends earlier, the trace so far is returned with the error.
func (s *Stage) Carry(ctx context.Context, p testplan.Plan, pace Pace) (*runlog.Trace, error) {
	if s.Namespace != "" {
		s.alone.Lock()
		defer s.alone.Unlock()
	}
	back, err := s.Turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer back()
	for tries := 1; ; tries++ {
		trace, complete, err := s.attempt(ctx, p, pace)
		if complete || s.hopeless.Load() || ctx.Err() != nil {
			return trace, err
		}
		if tries == mostRepeats {
			s.hopeless.Store(true)
		}
	}
}

// mostRepeats is how often a run is repeated because the API server ended a watch and a change was missed. If that did not help, no further run is repeated:
// a kind that is removed and created again in each run always looks like that.
const mostRepeats = 2

// attempt executes a plan in a new world. It reports whether the trace is complete.
func (s *Stage) attempt(ctx context.Context, p testplan.Plan, pace Pace) (trace *runlog.Trace, complete bool, err error) {
	script, err := fault.NewScript(p.Faults...)
	if err != nil {
		return nil, true, fmt.Errorf("plan %q: %w", p.Name, err)
	}
	w := &world{Stage: s, plan: p, pace: pace.withDefaults(), namespace: s.name(), script: script, rhythm: pace.Rhythm}
	w.scene, w.wide = s.Witness.Scene(w.namespace), s.Witness.Scene("")
	w.began = time.Now()
	w.trace = &runlog.Trace{Namespace: w.namespace, Began: w.began}
	defer w.leave()
	if err := w.build(ctx); err != nil {
		return w.trace, true, fmt.Errorf("prepare namespace %s: %w", w.namespace, err)
	}
	w.trace.Started = time.Now()
	err = w.perform(ctx)
	w.trace.Took = time.Since(w.trace.Started)
	return w.trace, w.complete(), err
}

// complete reports whether the trace contains all changes.
func (w *world) complete() bool {
	return w.Witness.Interrupted(w.began) == "" && !slices.ContainsFunc(w.changes(), func(change runlog.Change) bool { return change.Missed })
}

// build creates the namespace with everything that an operator needs in it.
func (w *world) build(ctx context.Context) error {
	if err := w.makeNamespace(ctx); err != nil {
		return err
	}
	if err := w.furnished(ctx); err != nil {
		return err
	}
	if err := w.grantIn(ctx, w.namespace); err != nil {
		return err
	}
	w.first = map[string]bool{}
	for _, object := range w.scene.State() {
		w.first[string(object.GetUID())] = true
	}
	for _, object := range w.Setup {
		if _, err := w.apply(ctx, object, w.namespace); err != nil {
			return fmt.Errorf("setup %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func (w *world) makeNamespace(ctx context.Context) error {
	if w.Namespace != "" {
		namespaces := w.cluster.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
		if _, err := namespaces.Get(ctx, w.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return err // one that exists is used as it is
		}
	}
	return w.applyOwn(ctx, "Namespace", w.namespace, "")
}

// furniture contains the objects that Kubernetes itself creates in each namespace. Pods are rejected before they exist.
var furniture = []struct {
	resource schema.GroupResource
	name     string
}{
	{schema.GroupResource{Resource: "serviceaccounts"}, "default"},
	{schema.GroupResource{Resource: "configmaps"}, "kube-root-ca.crt"},
}

// furnished waits until Kubernetes has created its own objects in the namespace.
func (w *world) furnished(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timing.clusterPatience)
	defer cancel()
	for {
		changed, missing := w.scene.Changed(), ""
		for _, one := range furniture {
			if w.Witness.Object(one.resource, w.namespace, one.name) == nil {
				missing = one.name
			}
		}
		if missing == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the cluster's controllers do not create %s: %w", missing, context.Cause(ctx))
		}
	}
}

// perform starts the operator and executes the steps.
func (w *world) perform(ctx context.Context) (err error) {
	if err := w.open(); err != nil {
		return err
	}
	defer func() { w.close(); w.collect() }()
	if err := w.life.start(ctx); err != nil {
		return err
	}
	if err := w.awake(ctx); err != nil {
		return err
	}
	for i := range w.plan.Workload.Steps {
		on, err := w.step(ctx, &w.plan.Workload.Steps[i])
		if err != nil || !on {
			return err
		}
	}
	return nil
}

// open starts the proxy between the operator and the API server.
func (w *world) open() (err error) {
	w.life = newLife(w)
	w.proxy, err = proxy.Start(proxy.Options{
		Server: w.identity, Observer: w.inside, Admin: w.inside, Script: w.script,
		ErrorLog: log.New(io.Discard, "", 0), // connections are closed on purpose, so errors are expected
		Before:   w.version, World: proxy.World{Namespace: w.namespace}, Kill: w.life.kill, Overlap: w.life.overlap,
		Slowness: w.Witness.Slowness,
	})
	return err
}

// version returns the version of the object of a request that the witness has recorded, or "0" if the object does not exist.
func (w *world) version(r requestlog.Request) (version string, known bool) {
	of := schema.GroupResource{Group: r.Group, Resource: r.Resource}
	if r.Name == "" || !w.Witness.Current(of) {
		return "", false
	}
	if object := w.Witness.Object(of, r.Namespace, r.Name); object != nil {
		return object.GetResourceVersion(), true
	}
	return "0", true
}

// close stops the operator and the proxy.
func (w *world) close() {
	w.life.close()
	if err := w.proxy.Close(); err != nil {
		w.failed(err)
	}
}

// elects reports whether the operator has to take part in leader election, because the plan runs two instances at once or
// takes its lease.
func (w *world) elects() bool {
	return slices.ContainsFunc(w.plan.Faults, func(f fault.Fault) bool {
		return f.Kind == "overlap" || f.Kind == "lose-lease"
	})
}

// collect adds the records of the proxy and the witness to the trace.
func (w *world) collect() {
	w.trace.Requests, w.trace.Dropped = w.proxy.Record().Requests(), w.proxy.Record().Dropped()
	w.trace.Changes = w.changes()
	w.trace.Exits = w.life.ends()
	w.trace.Pending, w.trace.Struck = w.script.Pending(), w.script.Struck()
	w.trace.Beside = beside(w.trace)
}

// own reports whether an object was created by Operon itself and is not part of the world.
func own(object *unstructured.Unstructured) bool { return object.GetLabels()[Label] != "" }

// state returns the current objects of the world.
func (w *world) state() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range w.scene.State() {
		if !w.first[string(object.GetUID())] && !own(object) {
			all = append(all, object)
		}
	}
	return append(all, w.elsewhere()...)
}

// leave removes the world, unless the whole cluster is disposable.
func (w *world) leave() {
	if err := os.RemoveAll(w.folderOf()); err != nil {
		w.failed(err)
	}
	made := w.made()
	if w.Disposable && w.Namespace == "" && len(made) == 0 && !occupies(w.scene.State()) {
		w.Witness.Forget(w.namespace)
		return
	}
	clean := func() {
		w.failed(w.clean(made))
		if w.Namespace != "" {
			w.Witness.ForgetChanges(w.namespace)
			return
		}
		w.Witness.Forget(w.namespace)
	}
	if w.Namespace != "" || len(made) > 0 {
		clean() // the next world must not find these objects
		return
	}
	w.cleaning.Go(clean)
}
