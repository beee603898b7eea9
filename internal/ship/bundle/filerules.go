package bundle

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var formatRule = &check{rule.Rule{
	Name: "bundle-format", Severity: rule.Error,
	About:  "A file of the bundle that is missing or cannot be read, or a field with another type.",
	Reason: "The bundle cannot be installed.",
	Fix:    "fix what the message names",
}, func(b *Bundle, found *rule.Findings) {
	for _, problem := range b.Problems {
		found.Add(problem.At, "%s", problem.Message)
	}
}}

var annotationsRule = &check{rule.Rule{
	Name: "bundle-annotations", Severity: rule.Error,
	About:  "An annotation in metadata/annotations.yaml that is missing or has an unexpected value.",
	Reason: "Catalogs find the files, the package and the channels of a bundle by these annotations.",
	Fix:    "set the annotation to the value that the message names",
}, func(b *Bundle, found *rule.Findings) {
	if !b.Registry() || len(b.annotations.values) == 0 {
		return
	}
	a := b.annotations
	at := func(key string) rule.Place {
		return rule.Place{File: a.file, Line: max(a.lines[key], 1), Column: 1}
	}
	want := map[string]string{mediaTypeKey: registryV1, manifestsKey: manifestsDir + "/", metadataKey: metadataDir + "/"}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got := a.values[key]; got != want[key] {
			found.Add(at(key), "%s: want %s, got %q", key, want[key], got)
		}
	}
	if b.Package == "" {
		found.Add(at(packageKey), "%s is missing: want the name of the package", packageKey)
	}
	if len(b.Channels) == 0 {
		found.Add(at(channelsKey), "%s is missing: want the channels, separated by commas", channelsKey)
	}
	if b.DefaultChannel != "" && len(b.Channels) == 1 && b.Channels[0] != b.DefaultChannel {
		found.Add(at(defaultChannelKey), "%s: the default channel %s is not one of the channels %s; it must exist in the catalog",
			defaultChannelKey, b.DefaultChannel, strings.Join(b.Channels, ", ")).Severity = rule.Warning
	}
}}

// conventionalChannel matches names of channels by the convention of the Operator Lifecycle Manager: how stable their versions are, and
// optionally which major or minor version they have.
var conventionalChannel = regexp.MustCompile(`^(candidate|fast|stable|preview)([-.]v?\d+(\.\d+)*)?$`)

var channelsRule = &check{rule.Rule{
	Name: "channel-names", Severity: rule.Advice,
	About:  "A channel whose name does not say how stable its versions are.",
	Reason: "Administrators choose a channel by its name.",
	Fix:    "name channels candidate, fast or stable, optionally with a version, such as stable-v1 or fast-v1.2",
}, func(b *Bundle, found *rule.Findings) {
	if !b.Registry() {
		return // the package has the channels
	}
	for _, channel := range b.Channels {
		checkChannel(channel, rule.Place{File: b.annotations.file, Line: max(b.annotations.lines[channelsKey], 1), Column: 1}, found)
	}
}}

func checkChannel(name string, at rule.Place, found *rule.Findings) {
	if !conventionalChannel.MatchString(name) {
		found.Add(at, "channel %s: want candidate, fast or stable, optionally with a version", name)
	}
}

var dockerfileRule = &check{rule.Rule{
	Name: "bundle-labels", Severity: rule.Error,
	About:  "A label in the Dockerfile of the bundle that differs from its annotation.",
	Reason: "Some tools read the labels of the image, others the annotations in it: they disagree about the bundle.",
	Fix:    "set the label to the value of the annotation",
}, func(b *Bundle, found *rule.Findings) {
	if !b.Registry() || b.labels == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(b.annotations.values)) {
		value, annotated := b.labels[key], b.annotations.values[key]
		if strings.HasPrefix(key, annotationPrefix) && value != annotated {
			found.Add(rule.Place{File: b.annotations.file, Line: b.annotations.lines[key], Column: 1}, "%s is %q here and %q as a label in the Dockerfile", key, annotated, value)
		}
	}
}}

// The Operator Lifecycle Manager stores the compressed manifests of a bundle in a ConfigMap, which has at most 1 MiB, and in
// base64.
const (
	maxBundle  = 1 << 20 * 3 / 4
	warnBundle = maxBundle * 3 / 4
)

var sizeRule = &check{rule.Rule{
	Name: "bundle-size", Severity: rule.Error,
	About:  "A bundle whose compressed manifests do not fit into a ConfigMap, or hardly.",
	Reason: "The Operator Lifecycle Manager cannot unpack it.",
	Fix:    "shorten descriptions in the CRDs, and the icon",
}, func(b *Bundle, found *rule.Findings) {
	if b.size <= warnBundle {
		return
	}
	add := found.Add(b.at(""), "the manifests have %d KiB compressed, the limit is %d KiB", b.size>>10, maxBundle>>10)
	if b.size <= maxBundle {
		add.Severity = rule.Warning
	}
}}
