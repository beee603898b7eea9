package gocrds_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/generate/gocrds"
	"github.com/operon-framework/operon/local/localtest"
)

const memcached = "../../../../examples/memcached"

// definitions returns the definitions of the examples in Go, in a group that no other test uses.
func definitions(t *testing.T, group string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../../../examples/*/config/crd/*_*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		if strings.Contains(file, "mysqlcluster-") {
			continue // both examples without Go have the same kind
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		one := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, one); err != nil {
			t.Fatal(err)
		}
		one.Spec.Group = group
		one.Name = one.Spec.Names.Plural + "." + group
		one.Spec.Conversion = nil
		all = append(all, one)
	}
	return all
}

// The generated code compiles, contains everything in the definitions, and a program can install them in a cluster, which
// then serves them.
func TestDefinitionsAsGo(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	want := definitions(t, env.Namespace+".example.com")
	source, err := gocrds.Source("crds", want)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := gocrds.Source("crds", want); err != nil || !bytes.Equal(source, again) {
		t.Errorf("a second time it is another one, %v", err)
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module := strings.NewReplacer("module github.com/operon-framework/operon/examples/memcached", "module example.com/cache", "=> ../..", "=> "+root)
	testaid.Write(t, filepath.Join(dir, "go.mod"), module.Replace(testaid.Read(t, memcached+"/go.mod")))
	testaid.Write(t, filepath.Join(dir, "go.sum"), testaid.Read(t, memcached+"/go.sum"))
	testaid.Write(t, filepath.Join(dir, "main.go"), testaid.Read(t, "testdata/program/main.go"))
	testaid.Write(t, filepath.Join(dir, "crds", gocrds.File), string(source))
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-ldflags=-w", "-o", "program", ".")
	build.Dir = dir
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	t.Cleanup(func() { remove(t, env, want) })
	var failed bytes.Buffer
	program := exec.CommandContext(t.Context(), filepath.Join(dir, "program"), env.Kubeconfig)
	program.Stderr = &failed
	output, err := program.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, failed.String())
	}
	var got []*apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(output, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the program has %s", output)
	}
	served(t, env, want)
}

func administrator(t *testing.T, env *localtest.Env) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func served(t *testing.T, env *localtest.Env, all []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	c := administrator(t, env)
	for _, one := range all {
		localtest.Eventually(t, one.Name+" to be served", func(ctx context.Context) error {
			found := &apiextensionsv1.CustomResourceDefinition{}
			if err := c.Get(ctx, client.ObjectKey{Name: one.Name}, found); err != nil {
				return err
			}
			for _, condition := range found.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return nil
				}
			}
			return fmt.Errorf("its conditions are %v", found.Status.Conditions)
		})
	}
}

func remove(t *testing.T, env *localtest.Env, all []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	c := administrator(t, env)
	for _, one := range all {
		if err := client.IgnoreNotFound(c.Delete(context.WithoutCancel(t.Context()), one.DeepCopy())); err != nil {
			t.Error(err)
		}
	}
}

// Kinds with the same name in two groups get different function names, and a directory that is not a valid package name is
// rejected.
func TestNames(t *testing.T) {
	t.Parallel()
	one, other := definitions(t, "one.example.com")[:1], definitions(t, "other.example.com")[:1]
	source, err := gocrds.Source("api/crds", append(one, other...))
	if err != nil {
		t.Fatal(err)
	}
	kind := one[0].Spec.Names.Kind
	for _, want := range []string{"package crds\n", "func OneExampleCom" + kind + "()", "func OtherExampleCom" + kind + "()"} {
		if !strings.Contains(string(source), want) {
			t.Errorf("there is no %q", want)
		}
	}
	for _, folder := range []string{"my-crds", "Crds", "1crds", "."} {
		if _, err := gocrds.Source(folder, one); err == nil || !strings.Contains(err.Error(), "is not a valid name of a Go package") {
			t.Errorf("%s: %v", folder, err)
		}
	}
}
