package bundle

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var nameRule = &check{rule.Rule{
	Name: "csv-name", Severity: rule.Error,
	About:  "A CSV whose name is not a DNS name, or is not that of its package and version.",
	Reason: "Subscriptions, catalogs and labels refer to a version by this name.",
	Fix:    "name the CSV PACKAGE.vVERSION, such as memcached-operator.v1.2.0",
}, func(b *Bundle, found *rule.Findings) {
	csvName, version := b.CSV.Name, b.CSV.Spec.Version
	if problems := validation.IsDNS1123Subdomain(csvName); len(problems) > 0 {
		found.Add(b.at("metadata.name"), "%q: %s", csvName, strings.Join(problems, "; "))
		return
	}
	if want := b.Package + ".v" + version; b.Package != "" && version != "" && csvName != want {
		found.Add(b.at("metadata.name"), "the CSV is named %s, its package and version make %s", csvName, want).Severity = rule.Warning
	}
}}

var versionRule = &check{rule.Rule{
	Name: "csv-version", Severity: rule.Error,
	About:  "A CSV without a semantic version.",
	Reason: "Upgrades and dependencies compare versions.",
	Fix:    "set spec.version to a version such as 1.2.0",
}, func(b *Bundle, found *rule.Findings) {
	if _, err := semver.Parse(b.CSV.Spec.Version); err != nil {
		found.Add(b.at("spec.version"), "spec.version: %q is not a semantic version", b.CSV.Spec.Version)
	}
}}

var replacesRule = &check{rule.Rule{
	Name: "csv-replaces", Severity: rule.Error,
	About:  "A reference to an older version that cannot be one: replaces, skips or olm.skipRange.",
	Reason: "Installed operators cannot be upgraded to this version, or the whole channel has no head.",
	Fix:    "name the CSV of the version before, and ranges such as >=1.0.0 <1.2.0",
}, func(b *Bundle, found *rule.Findings) {
	for i, older := range append([]string{b.CSV.Spec.Replaces}, b.CSV.Spec.Skips...) {
		path := "spec.replaces"
		if i > 0 {
			path = fmt.Sprintf("spec.skips[%d]", i-1)
		}
		switch {
		case older == "" && i == 0:
		case len(validation.IsDNS1123Subdomain(older)) > 0:
			found.Add(b.at(path), "%s: %q is not the name of a CSV", path, older)
		case older == b.CSV.Name:
			found.Add(b.at(path), "%s: the CSV cannot replace itself", path)
		}
	}
	text, set := b.CSV.Annotations[skipRange]
	if !set {
		return
	}
	at := b.at("metadata.annotations")
	versions, err := semver.ParseRange(text)
	if err != nil {
		found.Add(at, "%s: %q is not a range of versions", skipRange, text)
		return
	}
	if own, err := semver.Parse(b.CSV.Spec.Version); err == nil && versions(own) {
		found.Add(at, "%s: the range %q includes the version %s of the CSV itself", skipRange, text, own).Severity = rule.Warning
	}
}}

var installModesRule = &check{rule.Rule{
	Name: "csv-install-modes", Severity: rule.Error,
	About:  "Install modes that are missing, unknown, contradicting, or all unsupported.",
	Reason: "The operator cannot be installed: every OperatorGroup asks for a mode.",
	Fix:    "list OwnNamespace, SingleNamespace, MultiNamespace and AllNamespaces once each, and support at least one",
}, func(b *Bundle, found *rule.Findings) {
	spec := &b.CSV.Spec
	supported, seen := false, map[InstallMode]bool{}
	for i, mode := range spec.InstallModes {
		path := fmt.Sprintf("spec.installModes[%d]", i)
		switch {
		case !slices.Contains([]InstallMode{OwnNamespace, SingleNamespace, MultiNamespace, AllNamespaces}, mode.Type):
			found.Add(b.at(path), "%s: unknown install mode %q", path, mode.Type)
		case seen[mode.Type]:
			found.Add(b.at(path), "%s: install mode %s is listed twice", path, mode.Type)
		}
		seen[mode.Type] = true
		supported = supported || mode.Supported
	}
	switch {
	case len(spec.InstallModes) == 0:
		found.Add(b.at("spec.installModes"), "spec.installModes is missing")
	case !supported:
		found.Add(b.at("spec.installModes"), "spec.installModes: no install mode is supported")
	}
	converts := slices.ContainsFunc(spec.Webhooks, func(w Webhook) bool { return w.Type == Converting })
	for _, mode := range []InstallMode{OwnNamespace, SingleNamespace, MultiNamespace} {
		if converts && spec.Supports(mode) {
			found.Add(b.at("spec.installModes"), "spec.installModes: an operator with a conversion webhook can only support AllNamespaces, and it supports %s", mode)
		}
	}
}}

var kubeVersionRule = &check{rule.Rule{
	Name: "csv-min-kube-version", Severity: rule.Error,
	About:  "A minimum version of Kubernetes that is not a version, or that is missing.",
	Reason: "The operator is installed on clusters that lack what it needs.",
	Fix:    "set spec.minKubeVersion to a version such as 1.28.0",
}, func(b *Bundle, found *rule.Findings) {
	text := b.CSV.Spec.MinKubeVersion
	if text == "" {
		found.Add(b.at("spec"), "spec.minKubeVersion is missing").Severity = rule.Advice
		return
	}
	version, err := semver.Parse(strings.TrimPrefix(text, "v"))
	switch {
	case err != nil:
		found.Add(b.at("spec.minKubeVersion"), "spec.minKubeVersion: %q is not a semantic version", text)
	case version.Major != 1:
		found.Add(b.at("spec.minKubeVersion"), "spec.minKubeVersion: Kubernetes has no version %s; versions of Kubernetes begin with 1, those of distributions may not", text)
	}
}}

var relatedImagesRule = &check{rule.Rule{
	Name: "csv-related-images", Severity: rule.Error,
	About:  "A related image that is not an image, or whose name is used for another one.",
	Reason: "Tools that copy catalogs to registries without network access read this list.",
	Fix:    "list each image once, by digest",
}, func(b *Bundle, found *rule.Findings) {
	images := map[string]string{}
	for i, one := range b.CSV.Spec.RelatedImages {
		path := fmt.Sprintf("spec.relatedImages[%d]", i)
		if _, err := name.ParseReference(one.Image); err != nil || one.Image == "" {
			found.Add(b.at(path), "%s: %q is not an image", path, one.Image)
		}
		if other, twice := images[one.Name]; twice && other != one.Image {
			found.Add(b.at(path), "%s: the name %q is also that of %s", path, one.Name, other)
		}
		images[one.Name] = one.Image
	}
}}

// Valid values of annotations that operator catalogs display.
var (
	capabilityLevels = []string{"Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"}
	categories       = []string{
		"AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Database", "Developer Tools", "Development Tools",
		"Drivers and plugins", "Integration & Delivery", "Logging & Tracing", "Modernization & Migration", "Monitoring", "Networking",
		"OpenShift Optional", "Observability", "Security", "Storage", "Streaming & Messaging",
	}
	iconTypes = map[string]string{"image/png": "image/png", "image/jpeg": "image/jpeg", "image/gif": "image/gif", "image/svg+xml": "text/xml"}
)

var listingRule = &check{rule.Rule{
	Name: "csv-listing", Severity: rule.Warning,
	About:  "What people read about an operator in a catalog, missing or with an unknown value.",
	Reason: "Catalogs reject the operator, or users cannot find it.",
	Fix:    "complete the field that the message names",
}, func(b *Bundle, found *rule.Findings) {
	spec, annotations := &b.CSV.Spec, b.CSV.Annotations
	for _, field := range []struct {
		path    string
		missing bool
	}{
		{"spec.displayName", spec.DisplayName == ""}, {"spec.description", spec.Description == ""}, {"spec.provider.name", spec.Provider.Name == ""},
		{"spec.maintainers", len(spec.Maintainers) == 0}, {"spec.links", len(spec.Links) == 0}, {"spec.icon", len(spec.Icon) == 0},
	} {
		if field.missing {
			found.Add(b.at(field.path), "%s is missing", field.path)
		}
	}
	if level, set := annotations["capabilities"]; set && !slices.Contains(capabilityLevels, level) {
		found.Add(b.at("metadata.annotations.capabilities"), "capabilities: unknown level %q; want one of %s", level, strings.Join(capabilityLevels, ", "))
	}
	for category := range strings.SplitSeq(annotations["categories"], ",") {
		if category = strings.TrimSpace(category); category != "" && !slices.Contains(categories, category) {
			found.Add(b.at("metadata.annotations.categories"), "categories: unknown category %q; want some of %s", category, strings.Join(categories, ", "))
		}
	}
	for i, one := range spec.Maintainers {
		if _, err := mail.ParseAddress(one.Email); err != nil || one.Name == "" {
			path := fmt.Sprintf("spec.maintainers[%d]", i)
			found.Add(b.at(path), "%s: want a name and an e-mail address, got %q and %q", path, one.Name, one.Email)
		}
	}
	for i, one := range spec.Links {
		if at, err := url.Parse(one.URL); err != nil || !strings.HasPrefix(at.Scheme, "http") || at.Host == "" || one.Name == "" {
			path := fmt.Sprintf("spec.links[%d]", i)
			found.Add(b.at(path), "%s: want a name and a URL, got %q and %q", path, one.Name, one.URL)
		}
	}
	checkIcons(b, found)
}}

// Labels of a CSV for the platforms on which the operator runs.
const (
	archLabel = "operatorframework.io/arch."
	osLabel   = "operatorframework.io/os."
)

var platformsRule = &check{rule.Rule{
	Name: "csv-platforms", Severity: rule.Warning,
	About:  "A label about an architecture or an operating system with another value than `supported`.",
	Reason: "Catalogs offer an operator only for platforms with this value. Without labels, that is linux on amd64.",
	Fix:    "set the label to supported, or remove it",
}, func(b *Bundle, found *rule.Findings) {
	for _, key := range slices.Sorted(maps.Keys(b.CSV.Labels)) {
		value := b.CSV.Labels[key]
		if (strings.HasPrefix(key, archLabel) || strings.HasPrefix(key, osLabel)) && value != "supported" {
			found.Add(b.at("metadata.labels"), "%s: want supported, got %q", key, value)
		}
	}
}}

func checkIcons(b *Bundle, found *rule.Findings) {
	if n := len(b.CSV.Spec.Icon); n > 1 {
		found.Add(b.at("spec.icon"), "spec.icon: want one icon, got %d", n)
	}
	for i, icon := range b.CSV.Spec.Icon {
		path := fmt.Sprintf("spec.icon[%d]", i)
		want, known := iconTypes[icon.MediaType]
		if !known {
			found.Add(b.at(path), "%s.mediatype: want image/png, image/jpeg, image/gif or image/svg+xml, got %q", path, icon.MediaType)
			continue
		}
		data, err := base64.StdEncoding.DecodeString(icon.Data)
		if err != nil || len(data) == 0 {
			found.Add(b.at(path), "%s.base64data: want an image in base64", path)
			continue
		}
		if got := http.DetectContentType(data); !strings.HasPrefix(got, want) && (want != "text/xml" || !strings.Contains(string(data), "<svg")) {
			found.Add(b.at(path), "%s.base64data: the data is %s, not %s", path, got, icon.MediaType)
		}
	}
}
