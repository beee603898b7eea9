package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
)

// told is a layout in few lines.
func told(l *project.Layout) string {
	goes, is := l.Go()
	lines := []string{fmt.Sprintf("form %s, go %d %v, sdk %v, %s, %s, %s, multigroup %v, namespaced %v", l.Version, goes, is, l.OperatorSDK(), l.Domain, l.Name, l.Repo, l.Multigroup, l.Namespaced)}
	for _, r := range l.Resources {
		var is []string
		for _, one := range []struct {
			name  string
			holds bool
		}{{"api", r.API}, {"namespaced", r.Namespaced}, {"controller", r.Controller}, {"external", r.External}, {"core", r.Core}, {"defaulting", r.Defaulting}, {"validation", r.Validation}, {"conversion", r.Conversion}} {
			if one.holds {
				is = append(is, one.name)
			}
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d: %s/%s %s %s %s %s", r.Line, r.Group, r.Version, r.Kind, r.Plural, r.Path, strings.Join(is, " "))))
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
`, `form 3, go 4 true, sdk false, acme.test, fleet, example.com/fleet, multigroup true, namespaced true
13: ship.acme.test/v1 Frigate  example.com/fleet/api/ship/v1 api namespaced controller defaulting validation conversion
29: apps/v1 Deployment  k8s.io/api/apps/v1 controller core
35: sea.acme.test/v1beta1 Ocean oceans  api
42: cert-manager.io/v1 Certificate   controller external`},
		"Operator SDK's, on the v3 layout": {`domain: acme.test
layout: go.kubebuilder.io/v3
plugins:
  manifests.sdk.operatorframework.io/v2: {}
  scorecard.sdk.operatorframework.io/v2: {}
projectName: cache
repo: example.com/cache
version: 3
`, "form 3, go 3 true, sdk true, acme.test, cache, example.com/cache, multigroup false, namespaced false"},
		"Operator SDK's for Helm":       {"layout:\n- helm.sdk.operatorframework.io/v1\nversion: \"3\"\n", "form 3, go 0 false, sdk true, , , , multigroup false, namespaced false"},
		"several plugins in one layout": {"layout: kustomize.common.kubebuilder.io/v2,base.go.kubebuilder.io/v4\nversion: 3-alpha\n", "form 3, go 4 true, sdk false, , , , multigroup false, namespaced false"},
		"kubebuilder's v2": {"domain: acme.test\nrepo: example.com/cache\nresources:\n- group: cache\n  kind: Cache\n  version: v1\nversion: \"2\"\n",
			"form 2, go 2 true, sdk false, acme.test, , example.com/cache, multigroup false, namespaced false\n4: cache.acme.test/v1 Cache   api"},
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
	if layout := read(t, files{"PROJECT": "version: \"2\"\n"}).Layout; layout == nil || layout.Version != "2" {
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
