package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// An image of a bundle is pushed, written to a directory again, and becomes part of a catalog, by its name and by a template.
func TestBundlesInImages(t *testing.T) {
	t.Parallel()
	registry := registrytest.New(t)
	reference := registry.Host + "/lamp:1.1.0"
	if got := operon(t, "bundle", "image", bundles+"/lamp", "--push", reference); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	dir := filepath.Join(t.TempDir(), "lamp")
	got := operon(t, "bundle", "pull", reference, dir)
	if got.code != 0 || !strings.HasPrefix(got.stdout, reference+" with the digest sha256:") || !strings.HasSuffix(got.stdout, " in "+dir+"\n") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := operon(t, "bundle", "lint", dir, "--against", bundles+"/lamp"); got.code != 0 || !strings.Contains(got.stdout, "no findings") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	template := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(template, []byte("schema: olm.semver\nstable: {bundles: [{image: "+reference+"}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(t.TempDir(), "catalog")
	if got := operon(t, "catalog", "render", bundles+"/bell", "--to", older); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	if got := operon(t, "catalog", "add", older, reference, "--channel", "stable"); got.code != 0 || got.stdout != "lamp-operator: lamp-operator.v1.1.0 is the head of channel stable and replaces lamp-operator.v1.0.0\n" {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	for _, source := range []string{reference, template} {
		catalog := filepath.Join(t.TempDir(), "catalog")
		if got := operon(t, "catalog", "render", source, "--to", catalog); got.code != 0 {
			t.Fatalf("%s: exit %d\n%s", source, got.code, got.stderr)
		}
		if got := operon(t, "catalog", "validate", catalog); got.code != 0 || got.stdout != "1 package, 1 bundle, 0 problems\n" {
			t.Errorf("%s: exit %d\n%s%s", source, got.code, got.stdout, got.stderr)
		}
		if content, err := os.ReadFile(filepath.Join(catalog, "lamp-operator", "catalog.yaml")); err != nil || !strings.Contains(string(content), "image: "+reference+"\n") || strings.Contains(string(content), "olm.bundle.object") {
			t.Errorf("%s: the catalog is %s, %v", source, content, err)
		}
	}
}

func TestMistakesInCallsOfBundlePull(t *testing.T) {
	t.Parallel()
	missing := registrytest.New(t).Host + "/none:1"
	for call, want := range map[string]string{
		"bundle pull":                                "operon: want an image and a directory",
		"bundle pull a b -o xml":                     "operon: -o xml: want text, json or yaml",
		"bundle pull " + missing + " " + t.TempDir(): "operon: image " + missing + ": the registry answers with status 404",
		"bundle pull " + missing + " .":              "operon: . is not empty: want a new or empty directory",
		"bundle run " + missing:                      "operon: image " + missing + ": the registry answers with status 404",
		"bundle run /nowhere":                        "operon: there is no directory /nowhere; name a directory with a bundle",
		"bundle run " + bundles:                      "operon: " + bundles + " has 3 bundles: name the directory of one",
		"catalog render " + missing:                  "operon: image " + missing + ": the registry answers with status 404",
	} {
		if got := operon(t, strings.Fields(call)...); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
}
