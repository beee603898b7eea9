package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/generate/clients"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/local/localtest"
)

// memcached is the directory of the types that the tests use. They have only kubebuilder's markers.
const memcached = "../../../../examples/memcached"

// api writes a module with the example's types in the directory of one version.
func api(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		memcached + "/go.mod":                                "go.mod",
		memcached + "/go.sum":                                "go.sum",
		memcached + "/api/v1alpha1/types.go":                 "api/v1alpha1/types.go",
		memcached + "/api/v1alpha1/zz_generated.deepcopy.go": "api/v1alpha1/zz_generated.deepcopy.go",
		"testdata/program/main.go":                           "main.go",
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("module github.com/operon-framework/operon/examples/memcached", "module example.com/cache", "=> ../..", "=> "+root).Replace(string(content))
		testaid.Write(t, filepath.Join(dir, to), text)
	}
	return dir
}

func generated(t *testing.T, dir string) (map[string][]byte, error) {
	t.Helper()
	kinds, err := project.Kinds(dir)
	if err != nil {
		t.Fatal(err)
	}
	return clients.Files(t.Context(), clients.Input{Dir: dir, Module: "example.com/cache", Folder: "client", Kinds: kinds})
}

// Generated clients compile, and a program can list, watch and apply real objects with them.
func TestClientsWork(t *testing.T) {
	t.Parallel()
	dir := api(t)
	files, err := generated(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		testaid.Write(t, filepath.Join(dir, name), string(content))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-ldflags=-w", "-o", "program", ".")
	build.Dir = dir
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	env := localtest.Shared(t)
	env.InstallCRDs(t, memcached+"/config/crd")
	output, err := exec.CommandContext(t.Context(), filepath.Join(dir, "program"), env.Kubeconfig, env.Namespace).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	want := "watched 3\nwatched 5\nlisted 1 one\ncached 1\nmemcached.cache.example.com \"two\" not found\npretended x\n"
	if string(output) != want {
		t.Errorf("the program said %s", output)
	}
}

func TestWhatHasNoClients(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(types string) string
		folder string
		want   string
	}{
		"no kind":           {func(s string) string { return strings.ReplaceAll(s, "metav1.ObjectMeta", "metav1.ListMeta") }, "api/v1alpha1", "there are no kinds"},
		"another directory": {func(s string) string { return s }, "api", "the package of version v1alpha1 is in the directory api"},
		"a wrong marker": {func(s string) string {
			return strings.Replace(s, "// Memcached is", "// +genclient:nonsense\n// Memcached is", 1)
		}, "api/v1alpha1", "api/v1alpha1/types.go:23: +genclient:nonsense: unknown tag"},
		"a missing list":  {func(s string) string { return strings.ReplaceAll(s, "MemcachedList", "Memcacheds") }, "api/v1alpha1", "clients need a type MemcachedList"},
		"code that is no": {func(s string) string { return s + "\nfunc {" }, "api/v1alpha1", "types.go:78:6"},
	} {
		dir := api(t)
		file := filepath.Join(dir, "api/v1alpha1/types.go")
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Dir(file)); err != nil {
			t.Fatal(err)
		}
		testaid.Write(t, filepath.Join(dir, test.folder, "types.go"), test.change(string(content)))
		if files, err := generated(t, dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %d files, %v", name, len(files), err)
		}
	}
}
