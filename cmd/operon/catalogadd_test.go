package main

import (
	"strings"
	"testing"
)

func TestCatalogAdd(t *testing.T) {
	t.Parallel()
	if got := operon(t, "catalog", "add", "x"); got.code != exitFailed || !strings.Contains(got.stderr, "want a directory with a catalog, and directories or images with bundles") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	dir := renderedCatalog(t)
	if got := operon(t, "catalog", "add", dir, bundles+"/lamp"); got.code != exitFailed || !strings.Contains(got.stderr, "bundle lamp-operator.v1.1.0 is in the catalog: ") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	operon(t, "catalog", "render", bundles+"/bell", "--to", t.TempDir())
	empty := t.TempDir()
	if got := operon(t, "catalog", "render", bundles+"/bell", "--to", empty); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	got := operon(t, "catalog", "add", empty, bundles+"/lamp", "--channel", "fast")
	if got.code != 0 || got.stdout != "lamp-operator: lamp-operator.v1.1.0 is the head of channel fast and replaces lamp-operator.v1.0.0\n" {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := operon(t, "catalog", "validate", empty); got.code != 0 {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
