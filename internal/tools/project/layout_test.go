package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
)

// told formats a layout in a few lines.
func told(l *project.Layout) string {
	lines := []string{"name " + l.Name}
	for _, r := range l.Resources {
		line := fmt.Sprintf("%d: %s %s", r.Line, r.Version, r.Kind)
		if r.Webhooks {
			line += " webhooks"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestLayoutsAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, want string }{
		"kubebuilder's v4, multigroup, with webhooks": {`# a note
cliVersion: 4.7.0
domain: acme.test
layout:
- go.kubebuilder.io/v4
multigroup: true
namespaced: true
plugins:
  helm.kubebuilder.io/v2-alpha: {}
projectName: fleet
repo: example.com/fleet
resources:
- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: acme.test
  group: ship
  kind: Frigate
  path: example.com/fleet/api/ship/v1
  version: v1
  webhooks:
    conversion: true
    defaulting: true
    spoke:
    - v2
    validation: true
    webhookVersion: v1
- controller: true
  core: true
  group: apps
  kind: Deployment
  path: k8s.io/api/apps/v1
  version: v1
- api:
    crdVersion: v1
  domain: acme.test
  group: sea
  kind: Ocean
  plural: oceans
  version: v1beta1
- controller: true
  domain: io
  external: true
  group: cert-manager
  kind: Certificate
  version: v1
version: "3"
`, `name fleet
13: v1 Frigate webhooks
29: v1 Deployment
35: v1beta1 Ocean
42: v1 Certificate`},
		"Operator SDK's, on the v3 layout": {`domain: acme.test
layout: go.kubebuilder.io/v3
plugins:
  manifests.sdk.operatorframework.io/v2: {}
  scorecard.sdk.operatorframework.io/v2: {}
projectName: cache
repo: example.com/cache
version: 3
`, "name cache"},
		"Operator SDK's for Helm":       {"layout:\n- helm.sdk.operatorframework.io/v1\nversion: \"3\"\n", "name "},
		"several plugins in one layout": {"layout: kustomize.common.kubebuilder.io/v2,base.go.kubebuilder.io/v4\nversion: 3-alpha\n", "name "},
		"kubebuilder's v2": {"domain: acme.test\nrepo: example.com/cache\nresources:\n- group: cache\n  kind: Cache\n  version: v1\nversion: \"2\"\n",
			"name \n4: v1 Cache"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			layout, err := project.ParseLayout([]byte(test.file))
			if err != nil {
				t.Fatal(err)
			}
			if got := told(layout); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestAProjectHasItsLayout(t *testing.T) {
	t.Parallel()
	if layout := read(t, nil).Layout; layout != nil {
		t.Errorf("a project without PROJECT has %+v", layout)
	}
	if layout := read(t, files{"PROJECT": "version: \"2\"\n"}).Layout; layout == nil {
		t.Errorf("a project with PROJECT has %+v", layout)
	}
	_, err := project.Read(write(t, files{"PROJECT": "version: \"7\"\n"}), project.Options{})
	if err == nil || !strings.Contains(err.Error(), "PROJECT:1: a file of the form") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsWrongInAProjectFileIsTold(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"":                                "PROJECT:1: the file is empty",
		"- a\n":                           "PROJECT:1: want a mapping",
		"a: [\n":                          "PROJECT:",
		"repo: a\nversion: \"9\"\n":       `PROJECT:2: a file of the form "9" is not understood; known are 1, 2 and 3`,
		"repo: a\nresources: b\n":         "PROJECT:2: cannot unmarshal",
		"repo: a\nrepo: b\n":              `PROJECT:2: the key "repo" is here a second time`,
		"resources:\n- kind: A\n":         "PROJECT:2: a resource needs kind and version",
		"resources:\n- kind: A\n- c: 1\n": "PROJECT:2: a resource needs kind and version",
	} {
		if _, err := project.ParseLayout([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", file, err, want)
		}
	}
}

func FuzzParseLayout(f *testing.F) {
	for _, seed := range []string{"version: \"3\"\nlayout: [a/v1]\nresources:\n- kind: A\n  version: v1\n  api: {namespaced: true}\n", "layout: a,b\n", "plugins: {a: 1}\n", "&a [*a]\n", "resources:\n- &a {kind: A, version: b}\n- *a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		layout, err := project.ParseLayout([]byte(file))
		if err != nil {
			if !strings.Contains(err.Error(), "PROJECT:") {
				t.Errorf("the error names no place: %v", err)
			}
			return
		}
		for _, r := range layout.Resources {
			if r.Kind == "" || r.Version == "" || r.Line == 0 {
				t.Errorf("resource %+v", r)
			}
		}
	})
}
