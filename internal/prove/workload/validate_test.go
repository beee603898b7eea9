package workload_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/prove/workload"
)

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(encoded); err != nil {
		t.Fatal(err)
	}
	return o
}

const web = "{apiVersion: work.example.com/v1, kind: Web, metadata: {name: a}}"

func TestValidate(t *testing.T) {
	t.Parallel()
	one := []*unstructured.Unstructured{object(t, web)}
	ref := workload.RefOf(one[0])
	made := workload.Step{Name: "create", Apply: one}
	for name, test := range map[string]struct {
		of   workload.Workload
		want string
	}{
		"no name":         {workload.Workload{Steps: []workload.Step{made}}, "has no name"},
		"no steps":        {workload.Workload{Name: "a"}, "has no steps"},
		"unnamed step":    {steps(workload.Step{Apply: one}), "it has no name"},
		"twice":           {steps(made, made), `step 2 ("create"): an earlier step has the same name`},
		"nothing":         {steps(workload.Step{Name: "a"}), "it does nothing"},
		"two things":      {steps(workload.Step{Name: "a", Apply: one, Heal: true}), "more than one thing: [apply heal]"},
		"same as later":   {steps(workload.Step{Name: "a", Apply: one, Same: "create"}, made), `same state as "create", which is no earlier step`},
		"same as itself":  {steps(workload.Step{Name: "a", Apply: one, Same: "a"}), "no earlier step"},
		"refused delete":  {steps(workload.Step{Name: "a", Delete: []workload.Ref{ref}, Refused: true}), "for steps that apply"},
		"refused, fresh":  {steps(workload.Step{Name: "a", Apply: one, Refused: true, Fresh: true}), "changes nothing"},
		"heal":            {steps(made, workload.Step{Name: "a", Heal: true}), "nothing fails"},
		"heal twice":      {steps(workload.Step{Name: "f", Fail: &workload.Failure{How: "job"}}, workload.Step{Name: "a", Heal: true}, workload.Step{Name: "b", Heal: true}), `step 3 ("b"): nothing fails`},
		"no such failure": {steps(workload.Step{Name: "f", Fail: &workload.Failure{How: "explode"}}), `unknown failure "explode"`},
		"fewer than none": {steps(workload.Step{Name: "f", Fail: &workload.Failure{How: "job", Pods: -1}}), "pods: -1"},
		"no object":       {steps(workload.Step{Name: "a", Apply: []*unstructured.Unstructured{nil}}), "is empty"},
		"no object name":  {steps(workload.Step{Name: "a", Delete: []workload.Ref{{APIVersion: "v1", Kind: "Secret"}}}), "Secret has no name"},
		"no version":      {steps(workload.Step{Name: "a", Drift: &workload.Drift{Of: workload.Ref{Kind: "Secret", Name: "a"}}}), "Secret has no apiVersion"},
		"named twice":     {steps(workload.Step{Name: "a", Delete: []workload.Ref{ref, ref}}), "Web/a is listed twice"},
	} {
		if err := test.of.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	right := steps(made, workload.Step{Name: "fail", Fail: &workload.Failure{How: "image-pull", Pods: 1}},
		workload.Step{Name: "heal", Heal: true, Same: "create"}, workload.Step{Name: "delete", Delete: []workload.Ref{ref}})
	if err := right.Validate(); err != nil {
		t.Error(err)
	}
}

func steps(all ...workload.Step) workload.Workload { return workload.Workload{Name: "w", Steps: all} }

func TestSampleLeavesOutWhatAServerSets(t *testing.T) {
	t.Parallel()
	sample := object(t, `{apiVersion: work.example.com/v1, kind: Web, status: {phase: Up}, metadata: {name: a, namespace: home, uid: x, resourceVersion: "3", managedFields: []}}`)
	elsewhere := object(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: away}}`)
	w := workload.Sample([]*unstructured.Unstructured{sample, elsewhere}, nil)
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	if got := written(w); got != "sample\n    create: +a +s\n    delete: -Secret/s -Web/a\n    recreate: +a +s =create\n    delete again: -Secret/s -Web/a\n" {
		t.Errorf("%s", got)
	}
	applied := w.Steps[0].Apply
	if want := object(t, web); !equal(applied[0], want) {
		t.Errorf("%v, want %v", applied[0], want)
	}
	if applied[1].GetNamespace() != "away" {
		t.Errorf("a second namespace is lost: %v", applied[1])
	}
	if sample.GetUID() != "x" {
		t.Error("the sample was changed")
	}
}

func equal(a, b *unstructured.Unstructured) bool {
	return string(must(a.MarshalJSON())) == string(must(b.MarshalJSON()))
}

func must(content []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return content
}

func TestOperationsAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	samples, crds := read(t, projects["database"].samples), read(t, projects["database"].crds)
	of := func(options workload.Options) []string {
		operations, err := workload.Operations(samples, crds, options)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, o := range operations {
			names = append(names, o.Name)
		}
		return names
	}
	first := of(workload.Options{Limit: 12, Seed: 1})
	if len(first) != 12 {
		t.Errorf("%d operations: %q", len(first), first)
	}
	for range 5 {
		if again := of(workload.Options{Limit: 12, Seed: 1}); !slices.Equal(first, again) {
			t.Fatalf("first %q, then %q", first, again)
		}
	}
	differs := false
	for seed := uint64(2); seed < 8; seed++ {
		differs = differs || !slices.Equal(first, of(workload.Options{Limit: 12, Seed: seed}))
	}
	if !differs {
		t.Error("the seed makes no difference")
	}
}

func TestOperationsOfSamplesThatAreWrong(t *testing.T) {
	t.Parallel()
	right := projects["website"]
	crds := append(read(t, projects["database"].crds), read(t, right.crds)...)
	for text, want := range map[string]string{
		"{apiVersion: work.example.com/v1, kind: Database, metadata: {name: a}, spec: {engine: oracle, storage: {size: 1Gi}, passwordSecret: {name: a}}}": "no operations on Database/a: it is not valid without a webhook: spec.engine: Unsupported value",
		"{apiVersion: work.example.com/v9, kind: Database, metadata: {name: a}}":                                                                          "its CRD does not serve the version work.example.com/v9",
	} {
		samples := append(read(t, right.samples), object(t, text))
		others, err := workload.Operations(samples, crds, workload.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if len(others) < 30 || !strings.HasPrefix(others[0].Name, "Website/blog") {
			t.Errorf("%d operations on what is right", len(others))
		}
		if got := workload.Sample(samples, crds); got.Steps[1].Name != "spec.deployment.replicas: 3" {
			t.Errorf("%s", written(got))
		}
	}
}
