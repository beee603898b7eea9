package operontest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/operontest"
)

// bulb returns a Bulb with a spec in YAML.
func bulb(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	b := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("apiVersion: kit.operon.dev/v1\nkind: Bulb\nspec: "+spec), &b.Object); err != nil {
		t.Fatal(err)
	}
	b.SetName("bulb-" + strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "_")+1:]))
	return b
}

// The API in memory rejects and defaults the same as a real API server.
func TestSchemasAreThoseOfACluster(t *testing.T) {
	t.Parallel()
	env := onCluster(t)
	env.InstallCRDs(t, "testdata/bulbs.yaml")
	cluster, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, test := range []struct{ spec, field string }{
		{"{watts: 1}", ""},
		{"{watts: 100, colour: red, code: AB, note: x, labels: {a: b}, free: {a: [1]}}", ""},
		{"{watts: 1, sockets: [{name: a}, {name: b, volts: 110}]}", ""},
		{"{watts: 1, share: 50%}", ""},
		{"{watts: 1, share: 50}", ""},
		{"{watts: 1, note: null}", ""},
		{"{watts: 0}", "spec.watts"},
		{"{watts: 101}", "spec.watts"},
		{"{watts: many}", "spec.watts"},
		{"{}", "spec.watts"},
		{"{watts: 1, colour: blue}", "spec.colour"},
		{"{watts: 1, code: ab}", "spec.code"},
		{"{watts: 1, code: null, colour: null}", ""},
		{"{watts: 1, labels: {a: 1}}", "spec.labels.a"},
		{"{watts: 1, sockets: [{}]}", "spec.sockets[0].name"},
		{"{watts: 1, sockets: [{name: a}, {name: b}, {name: c}]}", "spec.sockets"},
		{"{watts: 1, colours: red}", "spec.colours"},
		{"{watts: 1, sockets: [{name: a, amps: 1}]}", "spec.sockets[0].amps"},
	} {
		t.Run(fmt.Sprintf("bulb_%d", i), func(t *testing.T) {
			t.Parallel()
			real, memory := bulb(t, test.spec), bulb(t, test.spec)
			refusedReally := cluster.Create(t.Context(), real, client.DryRunAll, client.FieldValidation("Strict"))
			refused := createInMemory(t, memory)
			for where, err := range map[string]error{"the cluster": refusedReally, "memory": refused} {
				if (err == nil) != (test.field == "") || err != nil && !strings.Contains(err.Error(), test.field) {
					t.Errorf("%s says of %s: %v; want it to name %q", where, test.spec, err, test.field)
				}
			}
			if test.field == "" && fmt.Sprint(real.Object["spec"]) != fmt.Sprint(memory.Object["spec"]) {
				t.Errorf("the cluster makes %v of it, memory %v", real.Object["spec"], memory.Object["spec"])
			}
		})
	}
}

// createInMemory creates an object on an API that serves the definitions, and reads it.
func createInMemory(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	var refused error
	operontest.New(compose(nothing), addLamp).CRDs("testdata").RunOne(t, lampCase{
		Object: lamp(1), Expect: expect{Writes: []string{"status Lamp desk"}, Events: []string{"Ready"}},
		Then: []step{{Do: []operontest.Change{func(ctx context.Context, p operontest.Place) error {
			if refused = p.Client.Create(ctx, object); refused != nil {
				return nil
			}
			return p.Get(ctx, client.ObjectKeyFromObject(object), object)
		}}}},
	})
	return refused
}

// A child that its schema rejects stalls its owner, and defaults of a schema are not drift.
func TestAChildWithASchema(t *testing.T) {
	t.Parallel()
	op := operontest.New(compose(func(l *Lamp, out *operon.Composition) error {
		b := bulb(t, fmt.Sprintf("{watts: %d, sockets: [{name: a}]}", l.Spec.Watts))
		b.SetName(l.Name)
		out.Child(b)
		return nil
	}), addLamp).CRDs("testdata/lamps.yaml", "testdata/bulbs.yaml")
	brighter := func(watts int32) []operontest.Change {
		return []operontest.Change{operontest.Edit(lamp(0), func(l *Lamp) { l.Spec.Watts = watts })}
	}
	op.RunOne(t, lampCase{
		Object: lamp(101),
		Expect: expect{
			Writes:     []string{"change Lamp desk", "status Lamp desk"},
			Events:     []string{"ChildRefused: spec.watts"},
			Conditions: []string{"Stalled=True ChildRefused: spec.watts"},
		},
		Then: []step{
			{Name: "a smaller one", Do: brighter(9), Expect: expect{
				Writes: []string{"create Bulb desk", "status Lamp desk"}, Events: []string{"Created", "Ready"}, Conditions: []string{"Ready=True"},
			}},
			{Name: "too large a one", Do: brighter(1000), Expect: expect{
				Writes: []string{"status Lamp desk"}, Events: []string{"ChildRefused: spec.watts"}, Conditions: []string{"Ready=False ChildRefused"},
			}},
			{Name: "a smaller one again", Do: brighter(8), Expect: expect{
				Writes: []string{"change Bulb desk", "status Lamp desk"}, Events: []string{"Updated", "Ready"}, Conditions: []string{"Ready=True"},
			}},
		},
	})
}

// A golden file is composed from the object as an API server would store it. A rejected object is an error.
func TestAGoldenObjectIsAdmitted(t *testing.T) {
	t.Parallel()
	definitions := filepath.Join(t.TempDir(), "lamps.yaml")
	strict := strings.NewReplacer("spec: {type: object, x-kubernetes-preserve-unknown-fields: true}",
		"spec: {type: object, properties: {watts: {type: integer, maximum: 9}, rooms: {type: array, items: {type: string}, default: [attic]}}}")
	loose, err := os.ReadFile("testdata/lamps.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(definitions, []byte(strict.Replace(string(loose))), 0o600); err != nil {
		t.Fatal(err)
	}
	op := operontest.New(compose(func(l *Lamp, out *operon.Composition) error {
		out.Child(config(l.Name, "rooms", fmt.Sprint(l.Spec.Rooms, l.Generation)))
		return nil
	}), addLamp).CRDs(definitions)
	got, err := op.Children(t.Context(), lamp(4))
	if err != nil || !strings.Contains(got, "[attic] 1") {
		t.Errorf("composed is %s (%v), want the room that is the default", got, err)
	}
	if _, err = op.Children(t.Context(), lamp(10)); err == nil || !strings.Contains(err.Error(), "spec.watts") {
		t.Errorf("a lamp of too many watts: %v", err)
	}
}

func TestAFixtureIsValid(t *testing.T) {
	t.Parallel()
	op := operontest.New(compose(nothing), addLamp).CRDs("testdata/bulbs.yaml")
	fails(t, func(tb testing.TB) {
		op.RunOne(tb, lampCase{Given: []client.Object{bulb(t, "{watts: 0}")}, Object: lamp(1)})
	}, "spec.watts", "greater than or equal to 1")
	for path, says := range map[string]string{"testdata/none.yaml": "no such file", "testdata/everything.yaml": "no CustomResourceDefinitions"} {
		_, err := operontest.New(compose(nothing), addLamp).CRDs(path).Children(t.Context(), lamp(1))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
}
