package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
)

const (
	group   = "// Package v1 has the API.\n// +kubebuilder:object:generate=true\n// +groupName=web.example.com\npackage v1\n"
	imports = "package v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n"
	body    = " struct {\n\tmetav1.TypeMeta   `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n}\n"
)

func kinds(t *testing.T, changes files) []project.Kind {
	t.Helper()
	found, err := project.Kinds(write(t, changes))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// names formats kinds, one in a line: apiVersion, kind, plural, scope, directory and place.
func names(kinds []project.Kind) string {
	var lines []string
	for _, k := range kinds {
		scope := "Namespaced"
		if k.Cluster {
			scope = "Cluster"
		}
		lines = append(lines, fmt.Sprintf("%s/%s %s %s %s %s %s %v", k.Group, k.Version, k.Name, k.Plural, scope, k.Folder, k.Place(), k.ShortNames))
	}
	return strings.Join(lines, "\n")
}

func TestKindsAreFoundInSources(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes files
		want    string
	}{
		"one": {files{"api/v1/doc.go": group, "api/v1/web.go": imports + "// Web is a site.\ntype Web" + body},
			"web.example.com/v1 Web webs Namespaced api/v1 api/v1/web.go:6 []"},
		"named by a marker": {files{"api/v1/doc.go": group, "api/v1/web.go": imports + "// +kubebuilder:object:root=true\n// +kubebuilder:resource:path=sites,scope=Cluster,shortName={\"w\",st}\n\n// Web is a site.\ntype Web" + body},
			"web.example.com/v1 Web sites Cluster api/v1 api/v1/web.go:9 [w st]"},
		"short names with semicolons, in several markers": {files{"api/v1/web.go": strings.Replace(group, "package v1\n", imports, 1) + "// +kubebuilder:resource:shortName=w;st\n// +kubebuilder:resource:singular=website\ntype Web" + body},
			"web.example.com/v1 Web webs Namespaced api/v1 api/v1/web.go:10 [w st]"},
		"a version of another name": {files{"api/next/doc.go": strings.ReplaceAll(group, "package v1", "// +versionName=v2\npackage next"), "api/next/web.go": strings.ReplaceAll(imports, "package v1", "package next") + "type Policy" + body},
			"web.example.com/v2 Policy policies Namespaced api/next api/next/web.go:5 []"},
		"markers of the type before it are not its own": {files{"api/v1/doc.go": group, "api/v1/web.go": imports + "// +kubebuilder:resource:scope=Cluster\n\n// Web is a site.\ntype Web" + body + "\n// Log is one.\ntype Log" + body},
			"web.example.com/v1 Log logs Namespaced api/v1 api/v1/web.go:14 []\nweb.example.com/v1 Web webs Cluster api/v1 api/v1/web.go:8 []"},
		"in a group of declarations": {files{"api/v1/doc.go": group, "api/v1/web.go": imports + "type (\n\t// +kubebuilder:resource:scope=Cluster\n\tWeb" + body + "\tLog" + body + ")\n"},
			"web.example.com/v1 Log logs Namespaced api/v1 api/v1/web.go:11 []\nweb.example.com/v1 Web webs Cluster api/v1 api/v1/web.go:7 []"},
		"what another module has":                      {files{"other/go.mod": "module other\n", "other/v1/doc.go": group, "other/v1/web.go": imports + "type Web" + body}, ""},
		"what the go command ignores":                  {files{"testdata/doc.go": group, "testdata/web.go": imports + "type Web" + body, "vendor/v1/web.go": group, ".x/web.go": group, "_x/web.go": group}, ""},
		"no group":                                     {files{"api/v1/web.go": imports + "type Web" + body}, ""},
		"a package that is skipped":                    {files{"api/v1/doc.go": "// +kubebuilder:skip\n" + group, "api/v1/web.go": imports + "type Web" + body}, ""},
		"a list, and a type with a field of that type": {files{"api/v1/doc.go": group, "api/v1/web.go": imports + "type WebList struct {\n\tmetav1.TypeMeta\n\tmetav1.ListMeta\n\tItems []Web\n}\ntype Web struct {\n\tmetav1.TypeMeta\n\tMeta metav1.ObjectMeta\n}\n"}, ""},
		"an error in the source": {files{"api/v1/doc.go": group, "api/v1/web.go": imports + "type Web" + body + "func {"},
			"web.example.com/v1 Web webs Namespaced api/v1 api/v1/web.go:5 []"},
		"names in braces and back quotes": {files{"api/v1/doc.go": group, "api/v1/web.go": imports + "// +kubebuilder:resource:shortName={wb,\"w\"},path=`webben`,scope=Cluster\ntype Web" + body},
			"web.example.com/v1 Web webben Cluster api/v1 api/v1/web.go:6 [wb w]"},
		"a marker that is not valid": {files{"api/v1/doc.go": group, "api/v1/web.go": imports + "// +kubebuilder:resource:nonsense=1\ntype Web" + body},
			"web.example.com/v1 Web webs Namespaced api/v1 api/v1/web.go:6 []"},
		"for another system": {files{"api/v1/doc.go": group, "api/v1/web_windows.go": imports + "type Web" + body, "api/v1/log.go": "//go:build plan9\n\n" + imports + "type Log" + body}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := names(kinds(t, test.changes)); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestKindsHaveTheirMarkers(t *testing.T) {
	t.Parallel()
	found := kinds(t, files{"api/v1/doc.go": group, "api/v1/web.go": imports +
		"// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size\n" +
		"// +kubebuilder:printcolumn:name=\"Size, now\",type=integer,JSONPath=`.spec.size`\n" +
		"// Web is a site.\ntype Web" + body})
	if len(found) != 1 || len(found[0].Markers) != 2 {
		t.Fatalf("found %+v", found)
	}
	web := found[0]
	if !web.Has("kubebuilder:subresource:scale") || web.Has("kubebuilder:subresource:sca") || web.Has("kubebuilder:subresource:status") {
		t.Errorf("markers %+v", web.Markers)
	}
	if web.Markers[1].Line != 6 {
		t.Errorf("the second marker is in line %d", web.Markers[1].Line)
	}
}

func TestKindsOfNoFolder(t *testing.T) {
	t.Parallel()
	if _, err := project.Kinds("nowhere"); err == nil || !strings.Contains(err.Error(), "directory nowhere does not exist") {
		t.Errorf("got %v", err)
	}
}

// BenchmarkKinds finds the kinds in this repository's whole root module.
func BenchmarkKinds(b *testing.B) {
	for b.Loop() {
		if _, err := project.Kinds(".."); err != nil {
			b.Fatal(err)
		}
	}
}
