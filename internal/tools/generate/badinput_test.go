package generate_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/generate"
)

// tree returns the content of the files below a directory.
func tree(t *testing.T, dir string) files {
	t.Helper()
	found := files{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			found[path] = read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// If the code of composers does not compile, Plan returns the compiler's error, even though the API compiles.
func TestComposersThatDoNotCompile(t *testing.T) {
	t.Parallel()
	const example = "../../../examples/memcached/"
	for name, test := range map[string]struct{ from, to, want string }{
		"a method that there is not": {"out.Child(", "out.Chilled(", "out.Chilled undefined"},
		"a function of Operon's":     {"operon.Manage(", "operon.Mange(", "undefined: operon.Mange"},
		"a variable for nothing":     {"func main() {", "func main() {\n\tunused := 1", "declared and not used: unused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := project(t, files{"api/v1alpha1/types.go": read(t, example+"api/v1alpha1/types.go")})
			for _, file := range []string{"main.go", "memcached.go"} {
				source := strings.ReplaceAll(read(t, example+file), "github.com/operon-framework/operon/examples/memcached", "example.com/web")
				write(t, dir, files{file: source})
			}
			if _, err := plan(t, dir).Changes.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			changed := false
			for _, file := range []string{"main.go", "memcached.go"} {
				source := read(t, filepath.Join(dir, file))
				changed = changed || strings.Contains(source, test.from)
				write(t, dir, files{file: strings.Replace(source, test.from, test.to, 1)})
			}
			if !changed {
				t.Fatalf("there is no %q", test.from)
			}
			_, err := generate.Plan(t.Context(), dir, generate.Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "the project does not compile; nothing was written: m") {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	change := func(from, to string) files {
		if !strings.Contains(types, from) {
			t.Fatalf("there is no %q", from)
		}
		return files{"api/v1/types.go": strings.Replace(types, from, to, 1)}
	}
	for name, test := range map[string]struct {
		files files
		flags string
		want  []string // each once; "DIR" is the project's directory
	}{
		"a marker with a wrong argument": {
			files: change("MinLength=1", "MinLength=long"),
			want:  []string{`DIR/api/v1/types.go:21:2: `, "marker +kubebuilder:validation:MinLength", `got "long"`, "want +kubebuilder:validation:MinLength=a whole number"},
		},
		"a marker with an argument that it does not have": {
			files: change("// +kubebuilder:subresource:status", "// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.x,colour=red"),
			want:  []string{`DIR/api/v1/types.go:10:1: `, `"colour"`, "name=a string", "priority=a whole number"},
		},
		"a marker on a field of another type": {
			files: change("MinLength=1", "Minimum=1"),
			want:  []string{`DIR/api/v1/types.go:22:2: `, "must apply minimum to a numeric value"},
		},
		"a type that no schema can express": {
			files: change("Title string", "Title chan string"),
			want:  []string{`DIR/api/v1/types.go:22:8: `, "a channel cannot be expressed in a schema"},
		},
		"a float": {
			files: change("Title string", "Title float64"),
			want:  []string{`DIR/api/v1/types.go:22:8: PageSpec.Title: a float`, "--allow-floats"},
		},
		"a field without a name in JSON": {
			files: change(" `json:\"title\"`", ""),
			want:  []string{`DIR/api/v1/types.go:22:2: `, "without JSON tag"},
		},
		"a type that is not there": {
			files: change("Title string", "Title Heading"),
			want:  []string{`DIR/api/v1/types.go:22:8: undefined: Heading`},
		},
		"a source that cannot be parsed": {
			files: change("Title string", "Title = string"),
			want:  []string{`DIR/api/v1/types.go:22:8: `, "expected"},
		},
		"a main package that cannot be parsed": {
			files: files{"main.go": "package main\n\nfunc main() {\n"},
			want:  []string{`DIR/main.go:3:15: `, "found 'EOF'"},
		},
		"an import that is not there": {
			files: files{"main.go": "package main\n\nimport _ \"example.com/web/none\"\n\nfunc main() {}\n"},
			want:  []string{`DIR/main.go:3:8: `, "example.com/web/none"},
		},
		"a go.mod that is none": {files: files{"go.mod": "modul x\n"}, want: []string{"DIR/go.mod has no module line"}},
		"no project":            {files: files{"go.mod": ""}, want: []string{"DIR", "module"}},
		"a flag that is none":   {flags: "--colour=red", want: []string{"--colour", "--max-description"}},
		"a flag's value":        {flags: "--max-description=long", want: []string{"--max-description=long: want a whole number"}},
		"a negative length":     {flags: "--max-description=-2", want: []string{"--max-description"}},
		"a directive's flag": {
			files: files{"main.go": "package main\n\n//go:generate operon generate --colour red\n\nfunc main() {}\n"},
			want:  []string{"DIR/main.go:3: ", "--colour"},
		},
		"a header that is not there": {flags: "--header-file=none.txt", want: []string{"none.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
			write(t, dir, test.files)
			before := tree(t, dir)
			_, err := generate.Plan(t.Context(), dir, generate.Options{Flags: strings.Fields(test.flags)})
			if err == nil {
				t.Fatal("it succeeded")
			}
			told := strings.ReplaceAll(err.Error(), dir, "DIR")
			for _, want := range test.want {
				if n := strings.Count(told, want); n == 0 || n > 1 && strings.Contains(want, "DIR") {
					t.Errorf("%q is told %d times:\n%s", want, n, told)
				}
			}
			same(t, before, tree(t, dir))
		})
	}
}

func same(t *testing.T, before, after files) {
	t.Helper()
	for path, content := range after {
		if before[path] != content {
			t.Errorf("%s changed", path)
		}
		delete(before, path)
	}
	for path := range before {
		t.Errorf("%s is gone", path)
	}
}

func TestOutsideAProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := generate.Plan(t.Context(), dir, generate.Options{}); err == nil || !strings.Contains(err.Error(), "it has neither a go.mod nor a watches.yaml") {
		t.Errorf("%v", err)
	}
	if _, err := generate.Plan(t.Context(), filepath.Join(dir, "none"), generate.Options{}); err == nil || !strings.Contains(err.Error(), "none does not exist") {
		t.Errorf("%v", err)
	}
	same(t, files{}, tree(t, dir))
}

// The test uses a file in place of a directory, because permissions do not restrict root.
func TestATreeThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types, "config": "a file\n"})
	before := tree(t, dir)
	result, err := generate.Plan(t.Context(), dir, generate.Options{})
	if err == nil {
		_, err = result.Apply(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "config") {
		t.Errorf("%v", err)
	}
	same(t, before, tree(t, dir))
}

// Missing deepcopy methods, or methods of deleted types, are not errors, because these methods are generated.
func TestCodeThatDoesNotCompileForWantOfItsMethods(t *testing.T) {
	t.Parallel()
	dir := project(t, files{
		"main.go":         mainFile,
		"api/v1/types.go": types + "\nvar _ runtime.Object = &Page{}\n",
		"api/v1/zz_generated.deepcopy.go": "//go:build !ignore_autogenerated\n\n// Code generated by controller-gen. DO NOT EDIT.\n\npackage v1\n\n" +
			"func (in *Gone) DeepCopy() *Gone { return nil }\n",
	})
	source := strings.Replace(read(t, filepath.Join(dir, "api/v1/types.go")), "import metav1", "import \"k8s.io/apimachinery/pkg/runtime\"\nimport metav1", 1)
	write(t, dir, files{"api/v1/types.go": source})
	apply(t, plan(t, dir))
	if got := read(t, filepath.Join(dir, "api/v1/zz_generated.deepcopy.go")); !strings.Contains(got, "func (in *Page) DeepCopyObject()") || strings.Contains(got, "Gone") {
		t.Error(got)
	}
}

func TestWhatNothingAsksForAnyMoreIsRemoved(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer("Page", "Book", "title", "name").Replace(types[strings.Index(types, "// Page is"):])
	source := "package v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n" + second
	foreign := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  annotations:\n    controller-gen.kubebuilder.io/version: v0.1.0\nspec:\n  group: other.example.com\n"
	dir := project(t, files{
		"main.go": mainFile, "api/v1/types.go": types, "api/v1/book.go": source, "config/crd/other.yaml": foreign,
		"api/old/zz_generated.deepcopy.go": "//go:build !ignore_autogenerated\n\n// Code generated by controller-gen. DO NOT EDIT.\n\npackage old\n",
	})
	settle(t, dir) // files that are as new as the run are not remembered
	if changed := apply(t, plan(t, dir)); !strings.HasPrefix(changed, "api/old/zz_generated.deepcopy.go ") || !strings.Contains(changed, "web.example.com_books.yaml") {
		t.Errorf("changed %s", changed)
	}
	if err := os.Remove(filepath.Join(dir, "api/v1/book.go")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"main.go": strings.Replace(mainFile, "// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n", "", 1)})
	if partial := plan(t, dir, "--paths", "./api/v1"); strings.Contains(strings.Join(partial.Notes, "\n"), "books.yaml") {
		t.Errorf("a definition is removed whose code may be in packages that were not read: %s", partial.Notes)
	}
	result := plan(t, dir)
	if changed := apply(t, result); changed != "api/v1/zz_generated.deepcopy.go config/crd/web.example.com_books.yaml config/rbac/role.yaml" {
		t.Errorf("changed %s", changed)
	}
	if notes := strings.Join(result.Notes, "\n"); !strings.Contains(notes, "config/crd/web.example.com_books.yaml is removed") {
		t.Errorf("notes: %s", notes)
	}
	if read(t, filepath.Join(dir, "config/crd/other.yaml")) != foreign {
		t.Error("a definition of another project was touched")
	}
}
