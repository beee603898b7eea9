package scaffold_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

// A project refers to the checkout from which the command was built, or, for a released command, to its release, however it
// was built and wherever it is located.
func TestWhereOperonComesFrom(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	const trimmed = scaffold.Framework + "/internal/tools/scaffold/source.go"
	for name, built := range map[string]struct{ source, around, version, wantDir, wantVersion, wantError string }{
		"in a checkout":                            {source: checkout + "/internal/tools/scaffold/source.go", wantDir: checkout},
		"for a release, in a checkout":             {source: checkout + "/internal/tools/scaffold/source.go", version: "v0.3.0", wantVersion: "v0.3.0"},
		"for a release, with -trimpath, in one":    {source: trimmed, around: checkout, version: "v0.3.0", wantVersion: "v0.3.0"},
		"in a checkout, seen from another one":     {source: checkout + "/internal/tools/scaffold/source.go", around: "/another", wantDir: checkout},
		"in a checkout, with -trimpath":            {source: trimmed, around: checkout, wantDir: checkout},
		"by go install …@v0.3.0":                   {source: "/home/me/go/pkg/mod/" + scaffold.Framework + "@v0.3.0/internal/tools/scaffold/source.go", around: checkout, wantVersion: "v0.3.0"},
		"by go install …@v0.3.0, with -trimpath":   {source: scaffold.Framework + "@v0.3.0/internal/tools/scaffold/source.go", around: checkout, wantVersion: "v0.3.0"},
		"for a release, with -trimpath, and moved": {source: trimmed, version: "v0.3.0", wantVersion: "v0.3.0"},
		"in a checkout that is gone":               {source: "/gone/internal/tools/scaffold/source.go", wantError: "built from sources that no longer exist (/gone)"},
		"with -trimpath, and moved":                {source: trimmed, wantError: "or a released version with --operon"},
	} {
		dir, version, err := scaffold.BuiltFrom(built.source, built.around, built.version)
		if dir != built.wantDir || version != built.wantVersion || (err == nil) != (built.wantError == "") || err != nil && !strings.Contains(err.Error(), built.wantError) {
			t.Errorf("%s: from %q %q, %v", name, dir, version, err)
		}
	}
}

// A project refers to a directory with a replace directive, and to a release only with its version.
func TestOperonInGoMod(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct{ dir, version, require, replace string }{
		{checkout, "", scaffold.Framework + " v0.0.0", "replace " + scaffold.Framework + " => " + checkout + "\n"},
		{"", "v0.3.0", scaffold.Framework + " v0.3.0", ""},
	} {
		mod, err := scaffold.GoMod(one.dir, one.version)
		if err != nil || !strings.Contains(mod, one.require+"\n") || strings.Contains(mod, "replace") != (one.replace != "") || !strings.Contains(mod, one.replace) {
			t.Errorf("from %+v: %v\n%s", one, err, mod)
		}
	}
}
