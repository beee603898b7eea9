package workload_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/local/localtest"
)

// site is a namespace of a real cluster in which only the test acts.
type site struct {
	*testing.T
	client.Client
	namespace string
}

// apply applies an object and returns the stored object.
func (s *site) apply(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object = object.DeepCopy()
	object.SetNamespace(s.namespace)
	err := s.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("prove"), client.ForceOwnership)
	return object, err
}

// remove deletes objects and waits until they no longer exist.
func (s *site) remove(refs []workload.Ref) {
	for _, ref := range refs {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
		object.SetName(ref.Name)
		object.SetNamespace(s.namespace)
		if err := client.IgnoreNotFound(s.Delete(s.Context(), object)); err != nil {
			s.Fatal(err)
		}
		localtest.Eventually(s, ref.String()+" is gone", func(ctx context.Context) error {
			if err := s.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				return apierrors.NewConflict(schema.GroupResource{}, ref.Name, err)
			}
			return nil
		})
	}
}

// The API server accepts and rejects each change and each way back as predicted. Objects are rejected for the
// predicted reason.
func TestOperationsOnACluster(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"database", "website", "chart", "memcached"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := projects[name]
			env := localtest.Shared(t)
			env.InstallCRDs(t, given.crds)
			c, err := client.New(env.Config, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := &site{T: t, Client: c, namespace: env.Namespace}
			operations, err := workload.Operations(read(t, given.samples), read(t, given.crds), workload.Options{Limit: 300})
			if err != nil {
				t.Fatal(err)
			}
			sent := 0
			operations = append(operations, workload.Around(read(t, given.samples), read(t, given.crds))...)
			for _, w := range operations {
				sent += s.carryOut(w)
			}
			t.Logf("%d workloads, %d objects applied", len(operations), sent)
		})
	}
}

// carryOut executes the steps of a workload, and compares the results with the prediction. It returns the number of
// applied objects.
func (s *site) carryOut(w workload.Workload) (sent int) {
	states := map[string]any{}
	home := true // true if the state is the state after the first step
	for _, step := range w.Steps {
		if !home {
			s.remove(step.Delete) // otherwise the next workload finds the objects of this one
		}
		home = step.Name == "create" || step.Same == "create" || step.Refused && home
		for _, object := range step.Apply {
			sent++
			got, err := s.apply(object)
			if step.Refused != (err != nil) {
				s.Errorf("%s, step %s: foretold was refused %v, it is %v", w.Name, step.Name, step.Refused, err)
			}
			if err == nil && step.Same == "" {
				states[step.Name+object.GetName()] = content(got)
			}
			if want := states[step.Same+object.GetName()]; err == nil && step.Same != "" && !alike(content(got), want) {
				s.Errorf("%s, step %s: %v, want %v", w.Name, step.Name, content(got), want)
			}
		}
	}
	return sent
}

// content returns the fields of an object, except its metadata.
func content(object *unstructured.Unstructured) map[string]any {
	fields := object.DeepCopy().Object
	delete(fields, "metadata")
	return fields
}

func alike(a, b any) bool {
	return equal(&unstructured.Unstructured{Object: map[string]any{"kind": "A", "of": a}}, &unstructured.Unstructured{Object: map[string]any{"kind": "A", "of": b}})
}

// The API server accepts bystanders of children, and changes and deletions of children.
func TestChildrenOnACluster(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, Client: c, namespace: env.Namespace}
	var children []*unstructured.Unstructured
	for _, object := range read(t, "testdata/children/real.yaml") {
		child, err := s.apply(object)
		if err != nil {
			t.Fatal(err)
		}
		child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "A", Name: "a", UID: "a"}}) // children of an operator have an owner
		children = append(children, child)
	}
	beside := workload.Bystanders(children)
	if len(beside) != 8 {
		t.Errorf("%d bystanders", len(beside))
	}
	for _, object := range beside {
		got, err := s.apply(object)
		if err != nil || got.GetLabels()["app"] == "" {
			t.Errorf("%s: %v, labels %v", workload.RefOf(object), err, got.GetLabels())
		}
	}
	w := workload.WithDrift(steps(workload.Step{Name: "create", Apply: children}), children)
	if len(w.Steps) != 15 {
		t.Errorf("%d steps: %s", len(w.Steps), written(w))
	}
	for _, step := range w.Steps[1:] {
		if err := s.drift(step.Drift); err != nil {
			t.Errorf("%s: %v", step.Name, err)
		}
	}
}

// drift sends the requests of another client as dry runs.
func (s *site) drift(d *workload.Drift) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(d.Of.APIVersion, d.Of.Kind))
	object.SetName(d.Of.Name)
	object.SetNamespace(s.namespace)
	if d.Patch == nil {
		return s.Delete(s.Context(), object, client.DryRunAll)
	}
	before := &unstructured.Unstructured{Object: object.DeepCopy().Object}
	if err := s.Get(s.Context(), client.ObjectKeyFromObject(object), before); err != nil {
		return err
	}
	err := s.Patch(s.Context(), object, client.RawPatch(types.MergePatchType, must(json.Marshal(d.Patch))), client.DryRunAll)
	if err == nil && alike(ownContent(before), ownContent(object)) {
		return errors.New("the patch changes nothing")
	}
	return err
}

func ownContent(object *unstructured.Unstructured) map[string]any {
	fields := content(object)
	fields["labels"] = object.GetLabels()
	return map[string]any{"text": string(must(json.Marshal(fields)))}
}
