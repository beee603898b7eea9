package scaffold_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

// shared is a typical manually written API package with two kinds: both in one file, their shared types in another, and their
// registration in a third.
var shared = map[string]string{
	"api/v1alpha1/register.go": `// Package v1alpha1 holds version v1alpha1.
//
// +kubebuilder:object:generate=true
// +groupName=home.example.com
// +operon:policy:name=pods,resources=pods,expression="true"
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const version = "v1alpha1"

// GroupVersion is that of the kinds.
var GroupVersion = schema.GroupVersion{Group: "home.example.com", Version: version}

// AddToScheme registers them.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Lamp{}, &LampList{}, &Fan{}, &FanList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
`,
	"api/v1alpha1/power.go": `package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Power is what a thing takes.
type Power struct {
	Watts resource.Quantity ` + "`json:\"watts\"`" + `
}

// Zero tells whether it is none.
func (p Power) Zero() bool { return p.Watts.IsZero() }

// Unrelated is of no kind.
type Unrelated struct{}
`,
	"api/v1alpha1/things.go": `package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true

// Fan turns.
type Fan struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata\"`" + `

	// +optional
	Power Power ` + "`json:\"power\"`" + `
}

// Name is in small letters.
func (f *Fan) Small() string { return strings.ToLower(f.Name) }

// +kubebuilder:object:root=true

// Lamp shines.
// +operon:policy:name=few,expression="!has(object.colors) || object.colors.size() < 9"
type Lamp struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata\"`" + `

	Colors []Color ` + "`json:\"colors,omitempty\"`" + `
	// +optional
	Power Power ` + "`json:\"power\"`" + `
}

type (
	// Color is one of a few.
	//
	// +kubebuilder:validation:Enum=red;green
	Color string

	// Speed is of a Fan.
	Speed int32
)

// Red is a Color.
const Red Color = "red"

// Bright is a lamp's.
func (l *Lamp) Bright() bool { return len(l.Colors) > 0 && l.Colors[0] == Red }

// LampList is a list.
//
// +kubebuilder:object:root=true
type LampList struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	metav1.ListMeta ` + "`json:\"metadata\"`" + `
	Items           []Lamp ` + "`json:\"items\"`" + `
}

// FanList is a list.
//
// +kubebuilder:object:root=true
type FanList struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	metav1.ListMeta ` + "`json:\"metadata\"`" + `
	Items           []Fan ` + "`json:\"items\"`" + `
}
`,
}

func home(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home-operator")
	carryOut(t, scaffold.Init{Dir: dir, Module: "example.com/home-operator"})
	for path, content := range shared {
		put(t, dir, path, content)
	}
	return dir
}

// A new version of one kind contains everything that the kind needs from its package, and nothing else. A second kind is
// added to the same package, and uses the shared types.
func TestVersionsOfKindsThatShareAPackage(t *testing.T) {
	t.Parallel()
	dir := home(t)
	carryOut(t, scaffold.Version{Dir: dir, Kind: "Lamp", Version: "v1", Storage: true})
	lamp := read(t, dir, "api/v1/things.go")
	for part, wanted := range map[string]bool{
		"// Package v1 holds version v1.\n": true, "+groupName=home.example.com": true, `const version = "v1"`: true, "AddKnownTypes(GroupVersion, &Lamp{}, &LampList{})": true,
		"type Power struct": true, "func (p Power) Zero() bool": true, `"k8s.io/apimachinery/pkg/api/resource"`: true, "const Red Color": true, "func (l *Lamp) Bright() bool": true,
		"Enum=red;green": true, "+kubebuilder:storageversion": true,
		"+operon:policy:name=few,": true, "+operon:policy:name=pods,": false,
		"Fan": false, "of a Fan": false, "Speed": false, "Unrelated": false, `"strings"`: false, "v1alpha1": false,
	} {
		if strings.Contains(lamp, part) != wanted {
			t.Errorf("%q: want %v in\n%s", part, wanted, lamp)
		}
	}
	if roots := strings.Count(lamp, "+kubebuilder:object:root=true"); roots != 2 {
		t.Errorf("there are %d markers of roots in\n%s", roots, lamp)
	}
	if old := read(t, dir, "api/v1alpha1/things.go"); strings.Contains(old, "storageversion") || strings.Contains(old, "operon:policy") || strings.Count(old, "operon.dev/conversion=operator") != 1 {
		t.Errorf("the old types are\n%s", old)
	}
	before := look(t, dir)
	want := "api/v1alpha1/lamp_conversion.go imports example.com/home-operator/api/v1, because another kind is converted from there, and Go packages cannot import each other: give --storage"
	if _, err := try(t, scaffold.Version{Dir: dir, Kind: "Fan", Version: "v1"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a conversion in the other direction: %v", err)
	}
	same(t, look(t, dir), before)
	put(t, dir, "both.go", "package main\n\nimport (\n\thome \"example.com/home-operator/api/v1\"\n\told \"example.com/home-operator/api/v1alpha1\"\n)\n\nfunc both(l *home.Lamp, f *old.Fan) bool { return l != nil && f != nil }\n")
	carryOut(t, scaffold.Version{Dir: dir, Kind: "Fan", Version: "v1", Storage: true})
	if both := read(t, dir, "both.go"); !strings.Contains(both, "home.Lamp, f *home.Fan)") || strings.Count(both, "home-operator/api/") != 1 {
		t.Errorf("what imports the new hub already is\n%s", both)
	}
	fan := read(t, dir, "api/v1/fan_types.go")
	for part, wanted := range map[string]bool{"type Fan struct": true, "func (f *Fan) Small()": true, `"strings"`: true, "type Power": false, "Lamp": false, "+groupName": false, "AddToScheme": false, "storageversion": true} {
		if strings.Contains(fan, part) != wanted {
			t.Errorf("%q: want %v in\n%s", part, wanted, fan)
		}
	}
	if lamp := read(t, dir, "api/v1/things.go"); !strings.Contains(lamp, "&Lamp{}, &LampList{}, &Fan{}, &FanList{})") {
		t.Errorf("Fan is not registered in\n%s", lamp)
	}
	goes(t, dir, "vet", "./api/...")
}

// Sources and samples can have the line ends of Windows.
func TestVersionsInACheckoutOfWindows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lamp-operator")
	carryOut(t, scaffold.Init{Dir: dir, Domain: "lab.example"})
	asOnWindows := func(path string) { put(t, dir, path, strings.ReplaceAll(read(t, dir, path), "\n", "\r\n")) }
	asOnWindows("main.go")
	carryOut(t, scaffold.API{Dir: dir, Group: "home", Version: "v1", Kind: "Lamp"})
	read(t, dir, "config/crd/home.lab.example_lamps.yaml")
	asOnWindows("config/samples/lamp.yaml")
	carryOut(t, scaffold.Version{Dir: dir, Kind: "Lamp", Version: "v2", Storage: true})
	if sample := read(t, dir, "config/samples/lamp.yaml"); !strings.Contains(sample, "apiVersion: home.lab.example/v2\r\n") {
		t.Errorf("the sample is %q", sample)
	}
}

// manyTypes replaces the field Colors by fields of all types that a kind may have: lists and maps with names, keys with names, types of other
// types, and types that contain themselves.
const manyTypes = `Colors Colors ` + "`json:\"colors,omitempty\"`" + `
	ByColor map[Color]Power ` + "`json:\"byColor,omitempty\"`" + `
	Zones Zones ` + "`json:\"zones,omitempty\"`" + `
	Main MainZone ` + "`json:\"main\"`" + `
	Chief MainRule ` + "`json:\"chief\"`" + `
	Delays map[Color]metav1.Duration ` + "`json:\"delays,omitempty\"`" + `
	Rules *Rule ` + "`json:\"rules,omitempty\"`" + `
	Forest map[string][]*Rule ` + "`json:\"forest,omitempty\"`" + `
`

const manyDeclared = `
// Colors are several.
type Colors []Color

// Zones are by name.
type Zones map[string]Zone

// Zone has a Color. A field has the name of a type.
type Zone struct {
	Color Color ` + "`json:\"color\"`" + `
}

// MainZone is one of them.
type MainZone Zone

// Rule contains rules.
type Rule struct {
	Name string ` + "`json:\"name\"`" + `

	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	All Rules ` + "`json:\"all,omitempty\"`" + `

	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Not *Rule ` + "`json:\"not,omitempty\"`" + `
}

// MainRule is one of them.
type MainRule Rule

// Rules are several.
type Rules []Rule
`

const roundTrip = `package v1alpha1_test

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/home-operator/api/v1"
	"example.com/home-operator/api/v1alpha1"
)

func TestRoundTrip(t *testing.T) {
	rule := v1alpha1.Rule{Name: "a", All: v1alpha1.Rules{{Name: "b", Not: &v1alpha1.Rule{Name: "c"}}}}
	in := &v1alpha1.Lamp{
		Colors: v1alpha1.Colors{"red", "green"}, ByColor: map[v1alpha1.Color]v1alpha1.Power{"red": {}}, Zones: v1alpha1.Zones{"x": {Color: "red"}},
		Main: v1alpha1.MainZone{Color: "green"}, Chief: v1alpha1.MainRule(rule), Delays: map[v1alpha1.Color]metav1.Duration{"red": {Duration: 1}}, Rules: &rule, Forest: map[string][]*v1alpha1.Rule{"a": {&rule, nil}, "b": nil},
	}
	hub, out := &v1.Lamp{}, &v1alpha1.Lamp{}
	if err := in.ConvertTo(hub); err != nil {
		t.Fatal(err)
	}
	if hub.Rules.All[0].Not.Name != "c" || hub.Forest["a"][0].Name != "a" || hub.Main.Color != "green" || hub.Chief.All[0].Name != "b" {
		t.Errorf("the hub is %+v", hub)
	}
	if err := out.ConvertFrom(hub); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(out, in) {
		t.Errorf("it comes back as %+v", out)
	}
}
`

// Conversions compile, and change nothing, for all types that a kind may have.
func TestConversionOfManyTypes(t *testing.T) {
	t.Parallel()
	dir := home(t)
	things := shared["api/v1alpha1/things.go"]
	put(t, dir, "api/v1alpha1/things.go", strings.Replace(things, "Colors []Color `json:\"colors,omitempty\"`\n", manyTypes, 1)+manyDeclared)
	carryOut(t, scaffold.Version{Dir: dir, Kind: "Lamp", Version: "v1", Storage: true})
	put(t, dir, "api/v1alpha1/roundtrip_test.go", roundTrip)
	goes(t, dir, "vet", "./api/...")
	goes(t, dir, "test", "./api/v1alpha1")
}

// A version is rejected if something would be lost or would not compile, and the tree is not changed.
func TestVersionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]struct {
		wanted scaffold.Version
		put    map[string]string
	}{
		"kind Lamp already has version v1alpha1 (api/v1alpha1/things.go:": {wanted: scaffold.Version{Version: "v1alpha1"}},
		"kind Lamp has no version v1beta1 to start from: it has v1alpha1": {wanted: scaffold.Version{Version: "v1", From: "v1beta1"}},
		"the name LampList is taken in api/v1/other.go": {wanted: scaffold.Version{Version: "v1"}, put: map[string]string{
			"api/v1/other.go": "// Package v1 is.\n//\n// +groupName=home.example.com\npackage v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n// +kubebuilder:object:root=true\ntype Other struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}\n\ntype LampList int\n",
		}},
		"the project has several kinds Lamp: select one with --group": {wanted: scaffold.Version{Version: "v2"}, put: map[string]string{
			"api/other/v1/lamp.go": "// Package v1 is.\n//\n// +groupName=other.example.com\npackage v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n// +kubebuilder:object:root=true\n// +kubebuilder:storageversion\ntype Lamp struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}\n",
		}},
		"no source in api/v1alpha1 calls scheme.AddKnownTypes": {wanted: scaffold.Version{Version: "v1"}, put: map[string]string{
			"api/v1alpha1/register.go": strings.Replace(shared["api/v1alpha1/register.go"], "scheme.AddKnownTypes(GroupVersion, &Lamp{}, &LampList{}, &Fan{}, &FanList{})", "", 1),
		}},
		"kind Lamp contains kind Fan (api/v1alpha1/things.go:": {wanted: scaffold.Version{Version: "v1"}, put: map[string]string{
			"api/v1alpha1/things.go": strings.Replace(shared["api/v1alpha1/things.go"], "Colors []Color", "Fans []Fan `json:\"fans\"`\n\tColors []Color", 1),
		}},
		"api/v1alpha1/hub.go has the method Hub of Lamp, which is not the hub any more": {wanted: scaffold.Version{Version: "v1", Storage: true}, put: map[string]string{
			"api/v1alpha1/hub.go": "package v1alpha1\n\n// Hub is.\nfunc (*Lamp) Hub() {}\n",
		}},
		"main.go does not call operon.Main with a list of options": {wanted: scaffold.Version{Version: "v1"}, put: map[string]string{
			"main.go": "package main\n\nimport \"github.com/operon-framework/operon\"\n\nfunc main() { operon.Main(\"x\", parts()...) }\n\nfunc parts() []operon.Option { return nil }\n",
		}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir := home(t)
			for path, content := range spoil.put {
				put(t, dir, path, content)
			}
			before := look(t, dir)
			spoil.wanted.Dir, spoil.wanted.Kind = dir, "Lamp"
			if _, err := try(t, spoil.wanted); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v", err)
			}
			same(t, look(t, dir), before)
		})
	}
}

// All code that uses the previous hub is found and changed to the new one. Code that uses other kinds of the previous version
// is not changed. Code that would not compile is not written.
func TestCodeThatWorksByAHub(t *testing.T) {
	t.Parallel()
	dir := home(t)
	put(t, dir, "power/power.go", `// Package power adds.
package power

import "example.com/home-operator/api/v1alpha1"

// Of a lamp and a fan.
func Of(l *v1alpha1.Lamp, f *v1alpha1.Fan) bool { return l.Bright() && f.Power.Zero() }
`)
	put(t, dir, "lamp.go", "package main\n\nimport home \"example.com/home-operator/api/v1alpha1\"\n\nfunc bright(l *home.Lamp) bool { return l.Bright() }\n")
	carryOut(t, scaffold.Version{Dir: dir, Kind: "Lamp", Version: "v1", Storage: true})
	for path, want := range map[string]string{
		"power/power.go": "import \"example.com/home-operator/api/v1alpha1\"\nimport \"example.com/home-operator/api/v1\"\n\n// Of a lamp and a fan.\nfunc Of(l *v1.Lamp, f *v1alpha1.Fan) bool",
		"lamp.go":        "import home \"example.com/home-operator/api/v1\"\n\nfunc bright(l *home.Lamp)",
	} {
		if content := read(t, dir, path); !strings.Contains(content, want) {
			t.Errorf("%s is\n%s", path, content)
		}
	}
	goes(t, dir, "list", "-export", "./...") // so that compiling is fast, and therefore done

	put(t, dir, "power/closed.go", "package power\n\nimport . \"example.com/home-operator/api/v1alpha1\"\n\nvar _ = Of(nil, &Fan{})\n")
	before := look(t, dir)
	_, err := try(t, scaffold.Version{Dir: dir, Kind: "Fan", Version: "v1", Storage: true})
	if err == nil || !strings.Contains(err.Error(), "power/closed.go:5:") || !strings.HasPrefix(err.Error(), "the project does not compile; nothing was written:") {
		t.Errorf("the error is %v", err)
	}
	same(t, look(t, dir), before)
}
