package catalog_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// streamed returns what Stream finds in a directory or a file.
func streamed(t *testing.T, source string) ([]catalog.Located, []catalog.Problem) {
	t.Helper()
	var objects []catalog.Located
	var problems []catalog.Problem
	err := catalog.Stream(source, catalog.Visitor{
		Object:  func(one catalog.Located) error { objects = append(objects, one); return nil },
		Problem: func(one catalog.Problem) { problems = append(problems, one) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects, problems
}

// Stream and New find what Read finds, with the same problems at the same places, and the offsets are those of the objects.
func TestStreamIsRead(t *testing.T) {
	t.Parallel()
	var inJSON bytes.Buffer
	if err := read(t, map[string]string{"catalog.yaml": till}).Write(&inJSON, catalog.JSON); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]map[string]string{
		"YAML":               {"catalog.yaml": till, ".indexignore": "drafts", "drafts/a.yaml": "{"},
		"JSON":               {"catalog.json": inJSON.String(), "b.yaml": strings.ReplaceAll(inJSON.String(), "till", "safe")},
		"flow":               {"a.yaml": `{"schema": olm.package, "name": door, "defaultChannel": x}`},
		"no newline":         {"a.yaml": strings.TrimSpace(till), "b.yaml": "---\n--- {schema: olm.package, name: x}\n---"},
		"broken YAML":        {"catalog.yaml": strings.Replace(till, "entries:", "entries: {{", 1) + strings.ReplaceAll(till, "till", "safe")},
		"broken JSON":        {"a.json": inJSON.String() + "\n\n\n  {\"schema\": ", "b.json": "", "c.yaml": ""},
		"without a schema":   {"a.yaml": "name: x\n---\nschema: olm.bundle\nname: y\n---\n- 1\n---\nschema: other\n"},
		"two of each":        {"a.yaml": till, "b.yaml": till},
		"carriage returns":   {"a.yaml": strings.ReplaceAll(till, "\n", "\r\n")},
		"dashes in the text": {"a.yaml": "schema: olm.package\nname: x\ndescription: |\n  one\n  ---\n  two\n"},
	} {
		dir := t.TempDir()
		for file, content := range files {
			testaid.Write(t, filepath.Join(dir, file), content)
		}
		want, err := catalog.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		objects, found := streamed(t, dir)
		got := catalog.New(objects, found)
		if got, want := strings.Join(problems(got), "\n"), strings.Join(problems(want), "\n"); got != want {
			t.Errorf("%s: the problems are\n%s\nwant\n%s", name, got, want)
		}
		var one, other bytes.Buffer
		if err := got.Write(&one, catalog.YAML); err != nil {
			t.Fatal(err)
		}
		if err := want.Write(&other, catalog.YAML); err != nil {
			t.Fatal(err)
		}
		if one.String() != other.String() {
			t.Errorf("%s: the catalog is\n%s\nwant\n%s", name, one.String(), other.String())
		}
		for _, object := range objects {
			content, err := os.ReadFile(object.At.File)
			if err != nil {
				t.Fatal(err)
			}
			line := 1 + bytes.Count(content[:object.From], []byte("\n"))
			var same struct{ Schema, Name string }
			text := content[object.From:object.To]
			if err := yaml.Unmarshal(text, &same); err != nil || same.Schema != object.Schema || same.Name != object.Name || object.At.Line < line || object.At.Line > line+1 {
				t.Errorf("%s: %s %s is at line %d and in %q from line %d, %v", name, object.Schema, object.Name, object.At.Line, text, line, err)
			}
		}
	}
}

// A file can be named, also by a link. A directory without a catalog and a missing file are errors, and a file that is too large or an
// endless object is a problem.
func TestStreamSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "mounted", "a.yaml"), filepath.Join(dir, "link.yaml")
	testaid.Write(t, file, till)
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{file, link} {
		if objects, found := streamed(t, source); len(objects) != 8 || len(found) != 0 {
			t.Errorf("%s: %d objects, problems %v", source, len(objects), found)
		}
	}
	for source, want := range map[string]string{
		"/nowhere":  "there is no directory or file /nowhere; name a directory with a catalog",
		t.TempDir(): "has no catalog in it: want files .yaml or .json",
	} {
		err := catalog.Stream(source, catalog.Visitor{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", source, err)
		}
	}
	for name, size := range map[string]int64{"huge.yaml": 2 << 30, "huge.json": 2 << 30, "object.yaml": 100 << 20, "object.json": 100 << 20} {
		dir := t.TempDir()
		testaid.Write(t, filepath.Join(dir, name), "{\"schema\": \"olm.package\", \"name\": \"x\", \"text\": \"")
		if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
			t.Fatal(err)
		}
		objects, found := streamed(t, dir)
		if len(objects) != 0 || len(found) == 0 || !strings.Contains(found[0].Message, " MiB") && !strings.Contains(found[0].Message, "not valid JSON: invalid character") {
			t.Errorf("%s: %d objects, problems %v", name, len(objects), found)
		}
	}
}

// Whatever a file contains, Stream finds what Read finds.
func FuzzStream(f *testing.F) {
	f.Add(till)
	f.Add(`{"schema":"olm.package","name":"a"}{"schema":"olm.channel","package":"a","name":"b","entries":[{"name":"c","replaces":"c"}]}`)
	f.Add("schema: olm.bundle\npackage: a\nname: b\n---\n- a\n---\n{\n--- x\n---")
	f.Add("{\"a\": 1}\n\n{")
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		testaid.Write(t, filepath.Join(dir, "catalog.yaml"), content)
		want, err := catalog.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		objects, found := streamed(t, dir)
		got := catalog.New(objects, found)
		if len(got.Packages) != len(want.Packages) || len(got.Others) != len(want.Others) || strings.Join(problems(got), "\n") != strings.Join(problems(want), "\n") {
			t.Errorf("%d packages, %d others, problems %q, want %d, %d, %q", len(got.Packages), len(got.Others), problems(got), len(want.Packages), len(want.Others), problems(want))
		}
	})
}
