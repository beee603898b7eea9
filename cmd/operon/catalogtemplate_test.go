package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

func TestCatalogOfATemplate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "semver.yaml")
	testaid.Write(t, file, "schema: olm.semver\nstable: {bundles: [{image: \"r.example.com/bell:1.0.0\"}, {image: \"r.example.com/bell:1.1.0\"}]}\n")
	got := operon(t, "catalog", "render", file, bundles, "--image", "r.example.com/{package}:{version}")
	if got.code != 0 || !strings.Contains(got.stdout, "name: stable-v1.1\n") || strings.Contains(got.stdout, "lamp") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := operon(t, "catalog", "render", file, file); got.code != exitFailed || !strings.Contains(got.stderr, "want one template at a time") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}
