package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/ship/bundle/check"
	"github.com/operon-framework/operon/internal/testing/bundles"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

func run(t *testing.T, options check.Options, dirs ...string) *check.Report {
	t.Helper()
	made, err := check.Run(t.Context(), dirs, options)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// errorsOf returns the rules with errors, in order of their names.
func errorsOf(all []rule.Finding) string {
	var names []string
	for _, one := range all {
		if one.Severity == rule.Error {
			names = append(names, one.Rule)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

func text(all []rule.Finding) string {
	var lines strings.Builder
	for _, one := range all {
		message := one.Message
		if len(message) > 500 {
			message = message[:500]
		}
		fmt.Fprintf(&lines, "\t%s %s %s: %s\n", one.Place, one.Severity, one.Rule, message)
	}
	return lines.String()
}

// Each bundle of the corpus has the expected errors, and none shows a defect of Operon.
func TestCorpus(t *testing.T) {
	t.Parallel()
	root, all := t.TempDir(), entries()
	for _, one := range all {
		one.Write(t, filepath.Join(root, one.Name))
	}
	made := run(t, check.Options{}, root)
	if len(all) < 60 || len(made.Bundles) != len(all) {
		t.Errorf("%d results for %d bundles", len(made.Bundles), len(all))
	}
	byDir := map[string]check.Bundle{}
	for _, one := range made.Bundles {
		byDir[filepath.Base(one.Dir)] = one
	}
	graphs := map[string]string{}
	for _, one := range made.Packages {
		graphs[one.Name] = errorsOf(one.Findings)
	}
	for _, one := range all {
		got := byDir[one.Name]
		has := strings.TrimSpace(errorsOf(got.Findings) + " " + graphs[one.Name])
		if has != one.Errors || got.Outcome == check.Defect {
			t.Errorf("%s: %s with errors %q, want %q\n%s", one.Name, got.Outcome, has, one.Errors, text(got.Findings))
		}
	}
	for name, want := range map[string]string{
		"need-met": "", "need-any": "", "need-kind": "an operator that provides Ledger (absent.example.com/v1)", "need-package": "package sound >=2.0.0",
		"need-label": "an operator with label certified", "need-required": "an operator that provides Ledger (absent.example.com/v1)",
	} {
		if got := strings.Join(byDir[name].Needs, ", "); got != want {
			t.Errorf("%s needs %q, want %q", name, got, want)
		}
	}
	if needs := byDir["need-rule"].Needs; len(needs) != 1 {
		t.Errorf("need-rule needs %v", needs)
	}
	for name, want := range map[string]string{
		"sample-pruned": "the field spec.length is unknown, and dropped", "old-sample-pruned": "the field spec.size is unknown, and dropped",
	} {
		if !strings.Contains(text(byDir[name].Findings), " warning csv-samples: ") || !strings.Contains(text(byDir[name].Findings), want) {
			t.Errorf("%s: want a warning %q, got\n%s", name, want, text(byDir[name].Findings))
		}
	}
	if modes := strings.Join(byDir["mode-own-single"].InstallModes, " "); modes != "OwnNamespace SingleNamespace" {
		t.Errorf("the install modes are %s", modes)
	}
}

// What an operator serves, and what a plan writes, is checked in the older layout, too.
func TestCorpusInTheOlderLayout(t *testing.T) {
	t.Parallel()
	root, all := t.TempDir(), append(bundles.ServedItems(), bundles.WrittenItems()...)
	for _, one := range all {
		one.WritePackage(t, filepath.Join(root, one.Name))
	}
	made := run(t, check.Options{}, root)
	byName := map[string]check.Bundle{}
	for _, one := range made.Bundles {
		byName[one.Package] = one
	}
	for _, one := range all {
		got, found := byName[one.Name]
		if has := errorsOf(got.Findings); !found || has != one.Errors || got.Outcome == check.Defect {
			t.Errorf("%s: %s with errors %q, want %q\n%s", one.Name, got.Outcome, has, one.Errors, text(got.Findings))
		}
	}
}

// Findings that are not errors, and the messages of those that are.
func TestMessages(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	wants := map[string]string{
		"write-removed-versions":   "warning converted-api: PodDisruptionBudget write-removed-versions is written in policy/v1, because Kubernetes 1.25 removed policy/v1beta1",
		"write-unknown-fields":     "warning bundle-objects: Service write-unknown-fields-metrics is written without spec.ports[0].prot, spec.selectors, which Kubernetes does not know",
		"removed-permissions":      "warning removed-api: spec.install.spec.permissions[0].rules[0]: Kubernetes 1.22 removed the API group extensions",
		"old-typed":                "warning crd-v1beta1: things.old-typed.example.com is in apiextensions.k8s.io/v1beta1, which the lifecycle manager converts: ",
		"conversion-not-described": "manifests/crd.yaml:7:3 error manager-refuses: the CustomResourceDefinition things.conversion-not-described.example.com has a conversion webhook",
		"group-reserved":           "manifests/crd.yaml:5:3 error manager-refuses: CustomResourceDefinition things.group-reserved.operators.coreos.com: the API group",
		"webhook-two-targets":      "error manager-refuses: deployment webhook-two-targets: containerPort 443 leads to the target ports 9443 and 9444",
		"webhook-expressions":      "error manager-refuses: deployment webhook-expressions serves webhooks or API services: its selector needs matchLabels",
		"webhook-manager":          "error manager-refuses: spec.webhookdefinitions[0] (vthing.example.com): rules[0]: webhook rules cannot include the group packages.operators.coreos.com",
	}
	for _, one := range entries() {
		if wants[one.Name] != "" {
			one.Write(t, filepath.Join(root, one.Name))
		}
	}
	for _, one := range run(t, check.Options{}, root).Bundles {
		name := filepath.Base(one.Dir)
		if found := text(one.Findings); strings.Count(found, wants[name]) != 1 {
			t.Errorf("%s: want %q once, got\n%s", name, wants[name], found)
		}
	}
}

// Packages that provide one CRD, or an API of one group and version, are named. Versions of one package are not.
func TestSharedAPIs(t *testing.T) {
	t.Parallel()
	const owner = "apiservicedefinitions:\n    owned: [{name: beams, group: GROUP, version: v1, kind: Beam, deploymentName: NAME, description: Beams.}]"
	serving := func(group string) change { return field("  " + strings.Replace(owner, "GROUP", group, 1)) }
	root := t.TempDir()
	for name, changes := range map[string][]change{
		"alone": nil, "first": nil, "second": {edit(csvFile, "NAME.example.com", "first.example.com"), edit(crdFile, "NAME.example.com", "first.example.com")},
		"beams": {serving("light.example.com")}, "lights": {serving("light.example.com")}, "third": {serving("first.example.com")},
	} {
		entryOf(name, "", changes...).Write(t, filepath.Join(root, name, "1"))
	}
	writeFiles(t, filepath.Join(root, "till", "1"), version("1.0.0", "stable"))
	writeFiles(t, filepath.Join(root, "till", "2"), version("1.1.0", "stable", replaces("1.0.0")))
	made := run(t, check.Options{}, root)
	want := map[string][]string{
		"first":  {"package first provides CustomResourceDefinition things.first.example.com, and so does package second", "package first provides APIService v1.first.example.com, and so does package third"},
		"second": {"package second provides CustomResourceDefinition things.first.example.com, and so does package first", "package second provides APIService v1.first.example.com, and so does package third"},
		"third":  {"package third provides APIService v1.first.example.com, and so does package first, package second: they cannot"},
		"beams":  {"package beams provides APIService v1.light.example.com, and so does package lights"},
		"lights": {"package lights provides APIService v1.light.example.com, and so does package beams"},
	}
	if len(made.Packages) != 7 || made.Failed() {
		t.Errorf("the packages are %+v", made.Packages)
	}
	for _, one := range made.Bundles {
		if one.Outcome != check.Passed {
			t.Errorf("%s: %s", one.Dir, text(one.Findings))
		}
	}
	for _, one := range made.Packages {
		if len(one.Findings) != len(want[one.Name]) {
			t.Errorf("%s: want %q, got\n%s", one.Name, want[one.Name], text(one.Findings))
		}
		for _, message := range want[one.Name] {
			if !strings.Contains(text(one.Findings), " warning package-shared: "+message) {
				t.Errorf("%s: want %q, got\n%s", one.Name, message, text(one.Findings))
			}
		}
	}
}

// version is a version of a package, with the fields of its CSV that upgrades depend on.
func version(number, channel string, changes ...change) map[string]string {
	one := entryOf("till", "", append([]change{edit(noteFile, "channels.v1: stable", "channels.v1: "+channel), edit(csvFile, "1.0.0", number)}, changes...)...)
	files := one.Files()
	return files
}

func replaces(name string) change { return field("  replaces: till.v" + name) }

func skipRange(text string) change {
	return edit(csvFile, "    capabilities: Basic Install\n", "    olm.skipRange: '"+text+"'\n")
}

// Broken graphs are named, and stop only their own package.
func TestGraphs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		versions []map[string]string
		want     string // a part of the error, or nothing
	}{
		"a line":               {[]map[string]string{version("1.0.0", "stable"), version("1.1.0", "stable", replaces("1.0.0")), version("1.2.0", "stable", replaces("1.1.0"))}, ""},
		"a skipped version":    {[]map[string]string{version("1.0.0", "stable"), version("1.1.0", "stable", replaces("1.0.0")), version("1.2.0", "stable", replaces("1.0.0"), field("  skips: [till.v1.1.0]"))}, ""},
		"a range":              {[]map[string]string{version("1.0.0", "stable"), version("1.2.0", "stable", skipRange(">=1.0.0 <1.2.0"), replaces("1.0.0"))}, ""},
		"two channels":         {[]map[string]string{version("1.0.0", "stable,fast"), version("1.1.0", "fast", replaces("1.0.0"))}, ""},
		"two heads":            {[]map[string]string{version("1.0.0", "stable"), version("1.1.0", "stable")}, "channel stable has 2 heads, want 1: till.v1.0.0, till.v1.1.0"},
		"a circle":             {[]map[string]string{version("1.0.0", "stable", replaces("1.1.0")), version("1.1.0", "stable", replaces("1.0.0"))}, "no head"},
		"a circle below":       {[]map[string]string{version("1.0.0", "stable", replaces("1.1.0")), version("1.1.0", "stable", replaces("1.0.0")), version("1.2.0", "stable")}, "till.v1.0.0 does not lead to the head till.v1.2.0"},
		"a range alone":        {[]map[string]string{version("1.0.0", "stable"), version("1.2.0", "stable", skipRange(">=1.0.0 <1.2.0"))}, "channel stable has 2 heads"},
		"a stranded version":   {[]map[string]string{version("1.0.0", "stable"), version("1.1.0", "stable", replaces("1.0.0")), version("1.2.0", "stable", field("  skips: [till.v1.1.0]"))}, "no upgrade leads from till.v1.0.0 to the head till.v1.2.0"},
		"a range that is none": {[]map[string]string{version("1.0.0", "stable", skipRange("old"))}, `skipRange "old" is not a range`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for i, files := range test.versions {
				writeFiles(t, filepath.Join(root, "till", fmt.Sprint(i)), files)
			}
			entryOf("sound", "").Write(t, filepath.Join(root, "sound", "1"))
			made := run(t, check.Options{}, root)
			if len(made.Packages) != 2 || made.Packages[0].Outcome != check.Passed {
				t.Fatalf("the packages are %+v", made.Packages)
			}
			till := made.Packages[1]
			wrong := errorsOf(till.Findings)
			if test.want == "" && (wrong != "" || till.Channels[0].Head == "") || test.want != "" && (wrong != "package-graph" || !strings.Contains(text(till.Findings), test.want)) {
				t.Errorf("want %q, got %v\n%s", test.want, till.Channels, text(till.Findings))
			}
		})
	}
}

// Copies of a package in two directories are two packages.
func TestCopiesOfAPackage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, parent := range []string{"community", "upstream"} {
		writeFiles(t, filepath.Join(root, parent, "till", "1.0.0"), version("1.0.0", "stable"))
		writeFiles(t, filepath.Join(root, parent, "till", "1.1.0"), version("1.1.0", "stable", replaces("1.0.0")))
	}
	if made := run(t, check.Options{}, root); len(made.Packages) != 2 || made.Failed() {
		t.Errorf("the packages are %+v", made.Packages)
	}
}

// A package in the older layout has the channels of its description.
func TestOlderLayout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, description, want string
	}{
		"sound":                {"till.package.yaml", "packageName: till\ndefaultChannel: stable\nchannels:\n- {name: stable, currentCSV: till.v1.1.0}\n- {name: old, currentCSV: till.v1.0.0}\n", ""},
		"another name":         {"package.yaml", "packageName: till\nchannels:\n- {name: stable, currentCSV: till.v1.1.0}\n", ""},
		"a missing version":    {"till.package.yaml", "packageName: till\nchannels:\n- {name: stable, currentCSV: till.v2.0.0}\n", "package-channels"},
		"no channels":          {"till.package.yaml", "packageName: till\n", "package-channels"},
		"not YAML":             {"till.package.yaml", "packageName: [\n", "package-channels"},
		"an unreadable bundle": {"till.package.yaml", "packageName: till\nchannels:\n- {name: stable, currentCSV: till.v1.1.0}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, number := range []string{"1.0.0", "1.1.0"} {
				changes := []change{schema("{}")}
				if number == "1.1.0" {
					changes = append(changes, replaces("1.0.0"))
				}
				files := version(number, "ignored", changes...)
				writeFiles(t, filepath.Join(root, "till", number), map[string]string{"csv.yaml": files[csvFile], "crd.yaml": files[crdFile]})
			}
			writeFiles(t, filepath.Join(root, "till"), map[string]string{test.file: test.description})
			if name == "an unreadable bundle" {
				writeFiles(t, filepath.Join(root, "till"), map[string]string{"1.2.0/csv.yaml": "kind: ClusterServiceVersion\n\t- x"})
			}
			made := run(t, check.Options{}, root)
			if len(made.Packages) != 1 || errorsOf(made.Packages[0].Findings) != test.want {
				t.Errorf("want %q, got %+v", test.want, made.Packages)
			}
			for _, one := range made.Bundles {
				want := ""
				if strings.HasSuffix(one.Dir, "1.2.0") {
					want = "bundle-format"
				}
				if got := errorsOf(one.Findings); got != want {
					t.Errorf("%s: the errors are %q, want %q\n%s", one.Dir, got, want, text(one.Findings))
				}
				if want == "" && !strings.Contains(text(one.Findings), "crd-v1beta1") {
					t.Errorf("%s: there is no warning about v1beta1\n%s", one.Dir, text(one.Findings))
				}
			}
		})
	}
}

// Versions of a package in the older layout are compared with those that they replace.
func TestUnsafeUpgrade(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for number, kind := range map[string]string{"1.0.0": "integer", "1.1.0": "string"} {
		changes := []change{edit(crdFile, "integer", kind)}
		if number == "1.1.0" {
			changes = append(changes, replaces("1.0.0"))
		}
		files := version(number, "ignored", changes...)
		writeFiles(t, filepath.Join(root, number), map[string]string{"csv.yaml": files[csvFile], "crd.yaml": files[crdFile]})
	}
	writeFiles(t, root, map[string]string{"till.package.yaml": "packageName: till\nchannels:\n- {name: stable, currentCSV: till.v1.1.0}\n"})
	made := run(t, check.Options{}, root)
	if got := errorsOf(made.Packages[0].Findings); got != "upgrade-unsafe" || !strings.Contains(text(made.Packages[0].Findings), "1.1.0/crd.yaml:1:1 error") {
		t.Errorf("the errors are %q\n%s", got, text(made.Packages[0].Findings))
	}
}

// Files that are not what they seem neither crash nor stop a run, and lead nowhere outside of the bundle.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	writeFiles(t, filepath.Dir(outside), map[string]string{"outside.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: outside}\n"})
	hostile := map[string]func(dir string) error{
		"link-out":     func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "manifests", "more.yaml")) },
		"link-up":      func(dir string) error { return os.Symlink("..", filepath.Join(dir, "manifests", "more")) },
		"link-to-self": func(dir string) error { return os.Symlink("more.yaml", filepath.Join(dir, "manifests", "more.yaml")) },
		"link-device":  func(dir string) error { return os.Symlink("/dev/zero", filepath.Join(dir, "manifests", "more.yaml")) },
		"pipe":         func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "manifests", "more.yaml"), 0o600) },
		"pipe-metadata": func(dir string) error {
			return syscall.Mkfifo(filepath.Join(dir, "metadata", "dependencies.yaml"), 0o600)
		},
		"a-directory": func(dir string) error { return os.Mkdir(filepath.Join(dir, "metadata", "properties.yaml"), 0o700) },
		"many-files": func(dir string) error {
			for i := range 1001 {
				if err := os.WriteFile(filepath.Join(dir, "manifests", fmt.Sprintf("%d.txt", i)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		},
	}
	want := map[string]string{"link-out": "bundle-format", "link-up": "", "link-to-self": "bundle-format", "link-device": "bundle-format", "pipe": "bundle-format",
		"pipe-metadata": "bundle-format", "a-directory": "bundle-format", "many-files": "bundle-unreadable"}
	for name, create := range hostile {
		dir := filepath.Join(root, name)
		entryOf(name, "").Write(t, dir)
		if err := create(dir); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, filepath.Join(root, "two-descriptions"), map[string]string{"a.package.yaml": "", "b.package.yaml": ""})
	want["two-descriptions"] = "bundle-unreadable"
	made := run(t, check.Options{Limit: 5 * time.Minute}, root)
	if len(made.Bundles) != len(want) {
		t.Errorf("%d results, want %d", len(made.Bundles), len(want))
	}
	for _, one := range made.Bundles {
		if got := errorsOf(one.Findings); got != want[filepath.Base(one.Dir)] {
			t.Errorf("%s: the errors are %q, want %q\n%s", one.Dir, got, want[filepath.Base(one.Dir)], text(one.Findings))
		}
		if strings.Contains(text(one.Findings), "Pod") {
			t.Errorf("%s: a file outside of the bundle was read", one.Dir)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(root, "link-up"), link); err != nil {
		t.Fatal(err)
	}
	if made := run(t, check.Options{}, link, "/nowhere"); len(made.Bundles) != 2 || made.Bundles[0].Outcome != check.Failed || made.Bundles[1].Outcome != check.Passed {
		t.Errorf("a link to a bundle, and a directory that does not exist: %+v", made.Bundles)
	}
	if _, err := check.Run(t.Context(), []string{"/nowhere"}, check.Options{}); err == nil || !strings.Contains(err.Error(), "there is no directory /nowhere") {
		t.Errorf("no bundle at all: %v", err)
	}
}

// A bundle at which the time is up is reported, and the run ends.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	entryOf("sound", "").Write(t, dir)
	made := run(t, check.Options{Limit: time.Nanosecond}, dir)
	if one := made.Bundles[0]; one.Outcome != check.Defect || errorsOf(one.Findings) != "operon-crash" || made.Summary.Bundles.Defects != 1 || !made.Failed() {
		t.Errorf("the result is %+v", one)
	}
}

// Progress is reported for each bundle, and results are in the order of directories whatever the number of jobs is.
func TestProgressAndOrder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 20 {
		entryOf(fmt.Sprintf("b%02d", i), "").Write(t, filepath.Join(root, fmt.Sprintf("b%02d", i)))
	}
	last, calls := 0, 0
	made := run(t, check.Options{Jobs: 4, Progress: func(done, all int, _ string) {
		if calls++; done != last+1 || all != 20 {
			t.Errorf("progress %d of %d after %d", done, all, last)
		}
		last = done
	}}, root)
	sorted := slices.IsSortedFunc(made.Bundles, func(a, b check.Bundle) int { return strings.Compare(a.Dir, b.Dir) })
	if calls != 20 || !sorted || made.Summary.Bundles != (check.Count{All: 20, Passed: 20}) {
		t.Errorf("%d calls, sorted %v, %+v", calls, sorted, made.Summary)
	}
}

// The memory for a hostile bundle is bounded.
func TestMemory(t *testing.T) {
	for _, one := range entries() {
		if one.Name != "bomb-of-text" && one.Name != "bomb" {
			continue
		}
		dir := t.TempDir()
		one.Write(t, dir)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run(t, check.Options{}, dir)
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 300 {
			t.Errorf("%s allocated %d MiB", one.Name, used)
		}
	}
}
