package helm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// password is a template of a Secret with a random value.
const password = "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME}\nstringData: {password: {{ randAlphaNum 8 }}}\n"

// objectsOf renders a chart of template files with the results that are stored in data. It returns the text of each object by its name.
func objectsOf(t *testing.T, data map[string][]byte, files map[string]string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if files["../Chart.yaml"] == "" {
		files["../Chart.yaml"] = "apiVersion: v2\nname: till\nversion: 0.1.0\n"
	}
	for name, content := range files {
		path := filepath.Join(dir, "templates", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chart, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := chart.render(t.Context(), input{name: "a", namespace: "b", revision: 1, lookup: &lookup{ctx: t.Context(), reader: &reads{}}, generated: newGenerated(data)})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, object := range r.objects {
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		texts[object.GetName()] = string(text)
	}
	return texts
}

// A change of other files does not change a stored value, and neither does another name of its file.
func TestGeneratedValuesStay(t *testing.T) {
	t.Parallel()
	data := map[string][]byte{}
	first := objectsOf(t, data, map[string]string{"main.yaml": strings.ReplaceAll(password, "NAME", "main")})
	second := objectsOf(t, data, map[string]string{
		"added.yaml": strings.ReplaceAll(password, "NAME", "added"), "main.yaml": strings.ReplaceAll(password, "NAME", "main"),
	})
	if second["main"] != first["main"] || second["added"] == "" || len(data) != 2 {
		t.Errorf("with a file before it, there are %v after %v, and %d values are stored", second, first, len(data))
	}
	third := objectsOf(t, data, map[string]string{
		"added.yaml": strings.ReplaceAll(password, "NAME", "added"), "renamed.yaml": strings.ReplaceAll(password, "NAME", "main"),
	})
	if third["main"] != first["main"] || third["added"] != second["added"] || len(data) != 2 {
		t.Errorf("in a renamed file, there are %v after %v, and %d values are stored", third, second, len(data))
	}
}

// The keys and values of a map have the same order each time: another order would be another revision.
func TestMapsHaveAnOrder(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, map[string][]byte{}, map[string]string{"a.yaml": `{{ $of := dict "c" 1 "a" 2 "e" 3 "b" 4 "d" 5 }}
apiVersion: v1
kind: ConfigMap
metadata: {name: maps}
data: {keys: "{{ keys $of (dict "z" 1 "y" 2) | join "" }}", values: "{{ values $of | join "" }}", none: "{{ keys dict | toJson }}{{ values dict | toJson }}"}
`})
	for _, want := range []string{`"keys":"abcdeyz"`, `"values":"24153"`, `"none":"[][]"`} {
		if !strings.Contains(objects["maps"], want) {
			t.Errorf("the object is %s, want %s", objects["maps"], want)
		}
	}
}

// What a disabled chart has stored is not used by another one, and is still there when the chart is enabled again.
func TestGeneratedValuesOfDisabledCharts(t *testing.T) {
	t.Parallel()
	data := map[string][]byte{}
	passwordOf := func(enabled string) string {
		files := map[string]string{
			"../Chart.yaml":  "apiVersion: v2\nname: till\nversion: 0.1.0\ndependencies:\n",
			"../values.yaml": fmt.Sprintf("%s: {enabled: true}\n", enabled),
		}
		for _, name := range []string{"mysql", "postgresql", "other"} {
			as, folder := name, name
			if name == "other" {
				folder = "postgresql"
			}
			files["../Chart.yaml"] += fmt.Sprintf("- {name: %s, alias: %s, version: 0.1.0, condition: %s.enabled}\n", folder, as, as)
			files["../values.yaml"] += fmt.Sprintf("%s_: {}\n", as)
			files["../charts/"+folder+"/Chart.yaml"] = fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 0.1.0\n", folder)
			files["../charts/"+folder+"/values.yaml"] = "enabled: false\n"
			files["../charts/"+folder+"/templates/secret.yaml"] = strings.ReplaceAll(password, "NAME", "database")
		}
		return objectsOf(t, data, files)["database"]
	}
	first := map[string]string{}
	for _, name := range []string{"mysql", "postgresql", "other", "mysql", "other", "postgresql"} {
		got := passwordOf(name)
		if got == "" || first[name] != "" && got != first[name] {
			t.Errorf("%s has %q after %q", name, got, first[name])
		}
		first[name] = got
	}
	if first["mysql"] == first["postgresql"] || first["mysql"] == first["other"] || first["postgresql"] == first["other"] {
		t.Errorf("charts share a password: %v", first)
	}
}

// A file that is also included, for example for a checksum, has the same values in both places, and the calls behind it are those of
// the outer file.
func TestGeneratedValuesOfAnIncludedFile(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, map[string][]byte{}, map[string]string{
		"a.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: outer}\ndata:\n  inner: {{ include \"till/templates/secret.yaml\" . | quote }}\n  own: {{ randAlphaNum 8 }}\n",
		"secret.yaml": strings.ReplaceAll(password, "NAME", "secret"),
	})
	_, value, _ := strings.Cut(objects["secret"], `"password":"`)
	value, _, _ = strings.Cut(value, `"`)
	if len(value) != 8 || strings.Count(objects["outer"], value) != 1 {
		t.Errorf("the value %q of the file is not that of its inclusion: %s", value, objects["outer"])
	}
}
