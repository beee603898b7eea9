package operontest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/operontest"
)

// Site is the hub of the kind that the conversion tests use.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Host    string   `json:"host,omitempty"`
		Mode    string   `json:"mode,omitempty"`
		Ports   []int32  `json:"ports,omitempty"`
		Owner   *string  `json:"owner,omitempty"`
		Aliases []string `json:"aliases,omitempty"`
	} `json:"spec,omitempty"`
}

// OldSite is the spoke: it has one port, and keeps further ones in an annotation.
type OldSite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Hostname string   `json:"hostname,omitempty"`
		Mode     string   `json:"mode,omitempty"`
		Port     *int32   `json:"port,omitempty"`
		Owner    *string  `json:"owner,omitempty"`
		Aliases  []string `json:"aliases,omitempty"`
	} `json:"spec,omitempty"`
}

func (s *Site) DeepCopyObject() runtime.Object    { return box.Copied(s) }
func (s *OldSite) DeepCopyObject() runtime.Object { return box.Copied(s) }

// Hub marks the version that others are converted to.
func (s *Site) Hub() {}

const keptPorts = "kit.operon.dev/ports"

// ConvertTo converts an OldSite to a Site.
func (s *OldSite) ConvertTo(hub conversion.Hub) error { return toHub(s, hub.(*Site)) }

// ConvertFrom converts a Site to an OldSite.
func (s *OldSite) ConvertFrom(hub conversion.Hub) error { return fromHub(hub.(*Site), s) }

func toHub(old *OldSite, site *Site) error {
	site.ObjectMeta = *old.ObjectMeta.DeepCopy()
	site.Spec.Host, site.Spec.Mode, site.Spec.Owner, site.Spec.Aliases = old.Spec.Hostname, old.Spec.Mode, old.Spec.Owner, old.Spec.Aliases
	if old.Spec.Port != nil {
		site.Spec.Ports = []int32{*old.Spec.Port}
	}
	kept, there := site.Annotations[keptPorts]
	if !there {
		return nil
	}
	delete(site.Annotations, keptPorts)
	return json.Unmarshal([]byte(kept), &site.Spec.Ports)
}

func fromHub(site *Site, old *OldSite) error {
	old.ObjectMeta = *site.ObjectMeta.DeepCopy()
	old.Spec.Hostname, old.Spec.Mode, old.Spec.Owner, old.Spec.Aliases = site.Spec.Host, site.Spec.Mode, site.Spec.Owner, site.Spec.Aliases
	if len(site.Spec.Ports) == 0 {
		return nil
	}
	old.Spec.Port = new(site.Spec.Ports[0])
	if len(site.Spec.Ports) == 1 {
		return nil
	}
	kept, err := json.Marshal(site.Spec.Ports)
	if old.Annotations == nil {
		old.Annotations = map[string]string{}
	}
	old.Annotations[keptPorts] = string(kept)
	return err
}

// sites returns the versions with the given conversions, which may have bugs.
func sites(to func(*OldSite, *Site) error, from func(*Site, *OldSite) error) *operontest.Conversions {
	return sitesOf("kit.operon.dev/v1", "kit.operon.dev/v1beta1", to, from)
}

func sitesOf(hubVersion, oldVersion string, to func(*OldSite, *Site) error, from func(*Site, *OldSite) error) *operontest.Conversions {
	hub := &Site{TypeMeta: metav1.TypeMeta{APIVersion: hubVersion, Kind: "Site"}}
	old := &OldSite{TypeMeta: metav1.TypeMeta{APIVersion: oldVersion, Kind: "Site"}}
	return operontest.Converters(hub, webhook.NewSpokeConverter(old,
		func(_ context.Context, hub *Site, spoke *OldSite) error { return from(hub, spoke) },
		func(_ context.Context, spoke *OldSite, hub *Site) error { return to(spoke, hub) },
	))
}

func TestConversionsThatRoundTrip(t *testing.T) {
	t.Parallel()
	operontest.Conversion(
		&Site{TypeMeta: metav1.TypeMeta{APIVersion: "kit.operon.dev/v1", Kind: "Site"}},
		&OldSite{TypeMeta: metav1.TypeMeta{APIVersion: "kit.operon.dev/v1beta1", Kind: "Site"}},
	).RoundTrip(t)
	sites(toHub, fromHub).CRDs("testdata/sites.yaml").RoundTrip(t)
}

func FuzzConversion(f *testing.F) { sites(toHub, fromHub).CRDs("testdata/sites.yaml").Fuzz(f) }

// Each bug is found, and reported with the smallest object that shows it.
func TestConversionsThatDoNotRoundTrip(t *testing.T) {
	t.Parallel()
	smallest := "Site v1 → v1beta1 → v1: "
	for name, test := range map[string]struct {
		to   func(*OldSite, *Site) error
		from func(*Site, *OldSite) error
		crds []string
		says []string
	}{
		"a field that is forgotten": {to: func(old *OldSite, site *Site) error {
			err := toHub(old, site)
			site.Spec.Owner = nil
			return err
		}, from: fromHub, says: []string{
			smallest + `spec.owner is lost; it was "a"`, "apiVersion: kit.operon.dev/v1\nkind: Site\nmetadata:\n  name: one\nspec:\n  owner: a\n", "-   owner: a",
			"Site v1beta1 → v1 → v1beta1: spec.owner is lost",
		}},
		"elements that do not fit": {to: toHub, from: func(site *Site, old *OldSite) error {
			err := fromHub(site, old)
			delete(old.Annotations, keptPorts)
			return err
		}, says: []string{smallest + "spec.ports was [1,1] and comes back as [1]", "  ports:\n  - 1\n  - 1\n"}},
		"a value that is mapped to another": {to: func(old *OldSite, site *Site) error {
			err := toHub(old, site)
			if len(site.Spec.Host) > 3 {
				site.Spec.Host = site.Spec.Host[:3]
			}
			return err
		}, from: fromHub, says: []string{"spec.host was ", "and comes back as"}},
		"metadata that is not copied": {to: toHub, from: func(site *Site, old *OldSite) error {
			err := fromHub(site, old)
			old.Labels = nil
			return err
		}, says: []string{smallest + "metadata.labels is lost", "example.com/key:"}},
		"a panic": {to: func(old *OldSite, site *Site) error {
			if len(*old.Spec.Owner) == 0 {
				return nil
			}
			return toHub(old, site)
		}, from: fromHub, says: []string{"v1beta1 → v1: ", "the conversion fails: it panics: runtime error: invalid memory address", "spec: {}"}},
		"an error": {to: toHub, from: func(site *Site, old *OldSite) error {
			if site.Spec.Mode != "" && len(site.Spec.Ports) > 0 {
				return errors.New("no mode with ports")
			}
			return fromHub(site, old)
		}, says: []string{smallest + "the conversion fails: no mode with ports", "  mode: a\n  ports:\n  - 1\n"}},
		"a source that is changed": {to: func(old *OldSite, site *Site) error {
			err := toHub(old, site)
			old.Spec.Hostname = ""
			return err
		}, from: fromHub, says: []string{"the conversion changes the object that it reads: spec.hostname is lost"}},
		"a field that the definition lacks": {to: toHub, from: fromHub, crds: []string{"testdata/sites-pruned.yaml"},
			says: []string{smallest + "spec.aliases is lost", "  aliases:\n  - a\n"}},
		"a default that only one version has": {to: toHub, from: fromHub, crds: []string{"testdata/sites-defaulted.yaml"},
			says: []string{smallest + `spec.mode comes back as "plain", and was not there`, "spec: {}"}},
		"no version in the definition": {to: toHub, from: fromHub, crds: []string{"testdata/lamps.yaml"},
			says: []string{"no CustomResourceDefinition has version v1 of Site"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fails(t, func(t testing.TB) { sites(test.to, test.from).CRDs(test.crds...).RoundTrip(t) }, test.says...)
		})
	}
}

// If several groups have the kind, the TypeMeta of a version selects the group, or else the test fails.
func TestConversionsOfKindsInSeveralGroups(t *testing.T) {
	t.Parallel()
	crds := []string{"testdata/sites.yaml", "testdata/sites-elsewhere.yaml"}
	for _, versions := range [][2]string{{"kit.operon.dev/v1", "kit.operon.dev/v1beta1"}, {"kit.operon.dev/v1", "v1beta1"}, {"v1", "kit.operon.dev/v1beta1"}} {
		for range 5 { // the order of definitions is random
			sitesOf(versions[0], versions[1], toHub, fromHub).CRDs(crds...).RoundTrip(t)
		}
	}
	sitesOf("v1", "v1beta1", toHub, fromHub).CRDs(crds[0]).RoundTrip(t)
	for _, test := range []struct{ hub, old, says string }{
		{"v1", "v1beta1", "several CustomResourceDefinitions have the versions v1 and v1beta1 of Site, in the groups elsewhere.dev, kit.operon.dev: state the group"},
		{"typo.dev/v1", "typo.dev/v1beta1", "no CustomResourceDefinition has version v1 of Site in the group typo.dev"},
		{"kit.operon.dev/v1", "elsewhere.dev/v1beta1", "no CustomResourceDefinition has version v1beta1 of Site in the group elsewhere.dev"},
	} {
		fails(t, func(t testing.TB) { sitesOf(test.hub, test.old, toHub, fromHub).CRDs(crds...).RoundTrip(t) }, test.says)
	}
}

// Generated objects match the schema, and Adjust handles what a schema cannot express.
func TestObjectsForConversionsAreValid(t *testing.T) {
	t.Parallel()
	ports, made := 0, 0
	strict := func(old *OldSite, site *Site) error {
		made++
		if old.Spec.Port != nil {
			ports++
		}
		if old.Spec.Mode != "" && old.Spec.Mode != "plain" && old.Spec.Mode != "secure" {
			t.Errorf("made the mode %q, which the schema does not take", old.Spec.Mode)
		}
		if port := old.Spec.Port; port != nil && (*port < 1 || *port > 65535) {
			t.Errorf("made the port %d, which the schema does not take", *port)
		}
		return toHub(old, site)
	}
	sites(strict, fromHub).CRDs("testdata/sites.yaml").RoundTrip(t)
	if made != 600 {
		t.Errorf("%d objects are converted, want 300 in each direction", made)
	}
	if ports < 200 {
		t.Errorf("only %d of 600 objects have a port: those with one are not made fit", ports)
	}
	picky := func(site *Site, old *OldSite) error {
		if site.Spec.Host == "" {
			return errors.New("no host")
		}
		return fromHub(site, old)
	}
	fails(t, func(t testing.TB) { sites(toHub, picky).RoundTrip(t) }, "no host")
	sites(toHub, picky).Adjust(func(object runtime.Object) {
		switch site := object.(type) {
		case *Site:
			site.Spec.Host = "host"
		case *OldSite:
			site.Spec.Hostname = "host"
		}
	}).RoundTrip(t)
	fails(t, func(t testing.TB) { operontest.Conversion(&Site{}).RoundTrip(t) }, "Site has no other version")
}
