package sbom_test

import (
	"debug/buildinfo"
	"encoding/json"
	"maps"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/ship/sbom"
)

// document is the part of a document that the tests check.
type document struct {
	Version       string `json:"spdxVersion"`
	Namespace     string `json:"documentNamespace"`
	Packages      []listed
	Relationships []struct{ SpdxElementID, RelationshipType, RelatedSpdxElement string }
}

type listed struct {
	ID           string `json:"SPDXID"`
	Name         string
	VersionInfo  string
	Comment      string
	Declared     string `json:"licenseDeclared"`
	ExternalRefs []struct{ ReferenceLocator string }
}

func write(t *testing.T, info *debug.BuildInfo) document {
	t.Helper()
	subject := sbom.Subject{Name: "web", Digest: strings.Repeat("0", 64), Created: time.Unix(1, 0), By: "operon-1", Info: info}
	content, err := sbom.Write(subject)
	if err != nil {
		t.Fatal(err)
	}
	again, err := sbom.Write(subject)
	if err != nil || string(again) != string(content) {
		t.Errorf("the same program gives another document: %v", err)
	}
	var d document
	if err := json.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The document names all modules in the build information of this test's program.
func TestEveryModuleIsNamed(t *testing.T) {
	t.Parallel()
	info, err := buildinfo.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	info.Deps = append(info.Deps,
		&debug.Module{Path: "example.com/a", Version: "v1.2.3", Sum: "h1:x="},
		&debug.Module{Path: "example.com/a/v2", Version: "v2.0.0+incompatible"},
		&debug.Module{Path: "example.com/Upper/d", Version: "v1.0.0-RC.1"},
		&debug.Module{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.1"}},
		&debug.Module{Path: "example.com/c", Version: "v0.0.0", Replace: &debug.Module{Path: "../c", Version: "(devel)"}},
	)
	d := write(t, info)
	if d.Version != "SPDX-2.3" || len(d.Packages) != len(info.Deps)+3 || len(d.Relationships) != len(d.Packages) {
		t.Fatalf("%d packages of %d modules, %d relationships", len(d.Packages), len(info.Deps), len(d.Relationships))
	}
	byName, ids := map[string]listed{}, map[string]bool{}
	for _, one := range d.Packages {
		byName[one.Name], ids[one.ID] = one, true
	}
	if len(ids) != len(d.Packages) {
		t.Error("ids are there twice")
	}
	for name, want := range map[string][3]string{
		"example.com/a":       {"v1.2.3", "go.sum has h1:x=", "pkg:golang/example.com/a@v1.2.3"},
		"example.com/a/v2":    {"v2.0.0+incompatible", "", "pkg:golang/example.com/a/v2@v2.0.0%2Bincompatible"},
		"example.com/Upper/d": {"v1.0.0-RC.1", "", "pkg:golang/example.com/upper/d@v1.0.0-RC.1"},
		"example.com/b":       {"v1.0.1", "replaced by example.com/fork v1.0.1", "pkg:golang/example.com/fork@v1.0.1"},
		"example.com/c":       {"", "replaced by ../c", ""},
		"stdlib":              {strings.TrimPrefix(info.GoVersion, "go"), "", "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")},
	} {
		got := byName[name]
		locator := ""
		if len(got.ExternalRefs) > 0 {
			locator = got.ExternalRefs[0].ReferenceLocator
		}
		if got.VersionInfo != want[0] || got.Comment != want[1] || locator != want[2] {
			t.Errorf("%s: %q %q %q", name, got.VersionInfo, got.Comment, locator)
		}
	}
}

// Each document has its own namespace: any difference in the content results in a different namespace.
func TestNamespacesAreUnique(t *testing.T) {
	t.Parallel()
	subject := func() *sbom.Subject {
		info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Path: "example.com/web"}, Deps: []*debug.Module{{Path: "example.com/a", Version: "v1.0.0"}}}
		return &sbom.Subject{Name: "web", Version: "1", Digest: strings.Repeat("0", 64), Created: time.Unix(1, 0), By: "operon-1", Info: info}
	}
	seen := map[string]string{}
	for what, change := range map[string]func(*sbom.Subject){
		"nothing":  func(*sbom.Subject) {},
		"name":     func(s *sbom.Subject) { s.Name = "shop" },
		"version":  func(s *sbom.Subject) { s.Version = "2" },
		"program":  func(s *sbom.Subject) { s.Digest = strings.Repeat("1", 64) },
		"time":     func(s *sbom.Subject) { s.Created = time.Unix(2, 0) },
		"tool":     func(s *sbom.Subject) { s.By = "operon-2" },
		"license":  func(s *sbom.Subject) { s.Licenses = map[string]string{"example.com/a": "MIT"} },
		"a module": func(s *sbom.Subject) { s.Info.Deps[0].Version = "v1.0.1" },
		"Go":       func(s *sbom.Subject) { s.Info.GoVersion = "go1.26.1" },
	} {
		s := subject()
		change(s)
		content, err := sbom.Write(*s)
		if err != nil {
			t.Fatal(err)
		}
		var d document
		if err := json.Unmarshal(content, &d); err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[d.Namespace]; taken || !strings.HasPrefix(d.Namespace, "https://spdx.org/spdxdocs/"+s.Name+"-") {
			t.Errorf("with another %s, and with another %s, it is %q", what, other, d.Namespace)
		}
		seen[d.Namespace] = what
	}
}

func TestLicensesAreNamed(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{Main: debug.Module{Path: "example.com/web"}, Deps: []*debug.Module{{Path: "example.com/a", Version: "v1.0.0"}}}
	content, err := sbom.Write(sbom.Subject{Name: "web", By: "operon-1", Info: info, Licenses: map[string]string{"example.com/a": "MIT", "example.com/web": ""}})
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"web": "NOASSERTION", "example.com/web": "NOASSERTION", "example.com/a": "MIT", "stdlib": "BSD-3-Clause"}
	for _, one := range d.Packages {
		if one.Declared != want[one.Name] {
			t.Errorf("%s has the license %q, want %q", one.Name, one.Declared, want[one.Name])
		}
	}
}

func TestProgramsThatTellNothing(t *testing.T) {
	t.Parallel()
	if _, err := sbom.Write(sbom.Subject{Name: "web"}); err == nil || !strings.Contains(err.Error(), "tells nothing") {
		t.Errorf("%v", err)
	}
}

// What is written can be read again. Licenses that are not known are left out.
func TestRead(t *testing.T) {
	t.Parallel()
	info, err := buildinfo.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	info.Deps = []*debug.Module{{Path: "example.com/a", Version: "v1.2.3"}, {Path: "example.com/b", Version: "v1.2.3"}}
	digest := strings.Repeat("7", 64)
	content, err := sbom.Write(sbom.Subject{Name: "web", Digest: digest, Created: time.Unix(1, 0), By: "operon-1", Info: info, Licenses: map[string]string{"example.com/a": "MIT OR Zlib"}})
	if err != nil {
		t.Fatal(err)
	}
	read, err := sbom.Read(content)
	if err != nil || read.Digest != digest {
		t.Errorf("%+v, %v", read, err)
	}
	if want := map[string]string{"example.com/a": "MIT OR Zlib", "stdlib": "BSD-3-Clause"}; !maps.Equal(read.Licenses, want) {
		t.Errorf("got %v, want %v", read.Licenses, want)
	}
	for _, wrong := range []string{"", "{", "{}", "[]"} {
		if read, err := sbom.Read([]byte(wrong)); err == nil {
			t.Errorf("%q is read as %+v", wrong, read)
		}
	}
}
