package operontest_test

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/operontest"
)

func TestObjectIsACopy(t *testing.T) {
	t.Parallel()
	base := lamp(4)
	base.Spec.Rooms = []string{"attic"}
	own := operontest.Object(base, func(l *Lamp) { l.Spec.Watts = 9 }, func(l *Lamp) { l.Spec.Rooms[0] = "cellar" })
	if own.Spec.Watts != 9 || own.Spec.Rooms[0] != "cellar" {
		t.Errorf("the copy is %+v", own.Spec)
	}
	if base.Spec.Watts != 4 || base.Spec.Rooms[0] != "attic" {
		t.Errorf("the base has become %+v", base.Spec)
	}
}

const sample = `# a sample
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: kit.operon.dev/v1
kind: Lamp
metadata: {name: desk}
spec: {watts: 4, rooms: [attic]}
`

func TestSample(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sample.yaml")
	put := func(content string) {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(sample)
	l := operontest.Sample(t, file, func(l *Lamp) { l.Spec.Watts++ })
	if l.Name != "desk" || l.Spec.Watts != 5 || len(l.Spec.Rooms) != 1 {
		t.Errorf("the sample is %+v", l)
	}
	if c := operontest.Sample[*corev1.ConfigMap](t, file); c.Name != "other" {
		t.Errorf("the other one is %+v", c)
	}
	read := func(t testing.TB) { operontest.Sample[*Lamp](t, file) }
	fails(t, func(t testing.TB) { operontest.Sample[*corev1.Secret](t, file) }, "has no object of kind Secret")
	put(sample + "  colour: red\n")
	fails(t, read, "did not find expected")
	put("kind: Lamp\nspec: {colour: red}\n")
	fails(t, read, `Lamp: `, `unknown field "colour"`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	fails(t, read, "no such file")
}

// A case changes neither its own objects nor those of another case.
func TestCasesDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	op := operontest.New(lit{}, addLamp)
	op.RunOne(t, aLamp)
	op.RunOne(t, aLamp)
	if aLamp.Object.ResourceVersion != "" || aLamp.Object.Namespace != "" || len(aLamp.Object.Status.Conditions) > 0 {
		t.Errorf("the case's object has become %+v", aLamp.Object)
	}
	if given := aLamp.Given[0]; given.GetUID() != "" || given.GetNamespace() != "" {
		t.Errorf("what is given has become %+v", given)
	}
}
