package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
)

// withOutput contains the arguments that each command with the flag -o needs, and whether it prints objects.
var withOutput = map[string]struct {
	arguments string
	objects   bool
}{
	"build": {}, "doctor": {}, "generate": {}, "lint": {}, "prove": {}, "test": {}, "version": {},
	"bundle convert":    {arguments: "x y"},
	"bundle pull":       {arguments: "x y"},
	"bundle check":      {arguments: "x"},
	"bundle create":     {arguments: "x"},
	"catalog diff":      {arguments: "x y"},
	"catalog graph":     {arguments: "x y"},
	"catalog image":     {arguments: "x --image y"},
	"catalog validate":  {arguments: "x"},
	"bundle image":      {arguments: "x --image y"},
	"chart index":       {arguments: "x"},
	"chart package":     {},
	"chart push":        {arguments: "x y"},
	"bundle lint":       {arguments: "x"},
	"bundle run":        {arguments: "x"},
	"bundle test":       {arguments: "x"},
	"image from-dir":    {arguments: "x --image y"},
	"image from-debian": {arguments: "x --image y"},
	"cluster list":      {objects: true},
	"crd check":         {arguments: "x", objects: true},
	"deploy":            {arguments: "--image x", objects: true},
	"explain":           {arguments: "pod/x", objects: true},
	"olm explain":       {arguments: "x"},
	"olm install":       {objects: true},
	"olm plan":          {arguments: "x"},
	"olm remove":        {arguments: "x", objects: true},
	"olm status":        {objects: true},
	"olm uninstall":     {objects: true},
	"olm upgrade":       {arguments: "x --dry-run"},
	"undeploy":          {objects: true},
	"up":                {arguments: "--once", objects: true},
}

// Every command that prints facts has the flag -o with the same formats, help, error and completion.
func TestEveryOutputFlag(t *testing.T) {
	t.Parallel()
	var paths, wants []string
	var calls [][]string // two for each command: one with an unknown format, and one that completes the format
	var visit func(*cobra.Command)
	visit = func(command *cobra.Command) {
		for _, below := range command.Commands() {
			visit(below)
		}
		flag := command.Flags().Lookup("output")
		if flag == nil {
			return
		}
		path := strings.TrimPrefix(command.CommandPath(), "operon ")
		with, ok := withOutput[path]
		if !ok {
			t.Errorf("operon %s has the flag -o: add it to this test", path)
			return
		}
		want := "text, json or yaml"
		switch {
		case path == "lint", path == "bundle lint", path == "bundle check":
			want = "text, json, yaml or sarif"
		case with.objects:
			want = "text, json, yaml or name"
		}
		if flag.Shorthand != "o" || flag.DefValue != "text" || !strings.HasSuffix(flag.Usage, ": "+want) {
			t.Errorf("operon %s: -%s, default %s, %s", path, flag.Shorthand, flag.DefValue, flag.Usage)
		}
		paths, wants = append(paths, path), append(wants, want)
		calls = append(calls, strings.Fields(path+" "+with.arguments+" -o xml"), append(strings.Fields("__complete "+path), "-o", ""))
	}
	visit(newRoot())
	if len(paths) != len(withOutput) {
		t.Errorf("found %d of %d commands", len(paths), len(withOutput))
	}
	results := endedMany(t, asOperonIn(t), calls...)
	for i, path := range paths {
		got, completed := results[2*i], results[2*i+1]
		if got.code != exitFailed || !strings.HasPrefix(got.stderr, "operon: -o xml: want "+wants[i]+"\n") {
			t.Errorf("operon %s -o xml: exit %d, %s", path, got.code, got.stderr)
		}
		if words := strings.NewReplacer(", ", "\n", " or ", "\n").Replace(wants[i]) + "\n"; !strings.HasPrefix(completed.stdout, words) {
			t.Errorf("operon %s: the completions of -o are %q", path, completed.stdout)
		}
	}
}

// The YAML contains the same facts as the JSON.
func TestYAMLIsTheJSON(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"version", "cluster list", "lint ../../examples/memcached", "doctor", "generate --dry-run ../../examples/memcached"} {
		var decoded [2]any
		for i, format := range []string{formatJSON, formatYAML} {
			got := operon(t, append(strings.Fields(call), "-o", format)...)
			decode := yaml.Unmarshal
			if format == formatJSON {
				decode = func(content []byte, to any, _ ...yaml.JSONOpt) error { return json.Unmarshal(content, to) }
			}
			if err := decode([]byte(got.stdout), &decoded[i]); err != nil || got.stdout == "" || format == formatYAML && strings.HasPrefix(got.stdout, "{\n") {
				t.Errorf("operon %s -o %s: %v, %s, %s", call, format, err, got.stdout, got.stderr)
			}
		}
		if call != "doctor" && !reflect.DeepEqual(decoded[0], decoded[1]) { // the free disk space may change between two runs of doctor
			t.Errorf("operon %s prints %v and %v", call, decoded[0], decoded[1])
		}
	}
}

// printedAs prints forms in a format.
func printedAs(t *testing.T, format string, as forms) string {
	t.Helper()
	var out bytes.Buffer
	o := output{format: format}
	if err := o.print(&out, as); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPrint(t *testing.T) {
	t.Parallel()
	as := forms{
		text: func(out io.Writer) error { _, err := io.WriteString(out, "text\n"); return err }, facts: map[string]any{"a": 1, "b": "2"},
		names: nameLines("Deployment web-system/web", "ClusterRole operon.dev:web"),
	}
	for format, want := range map[string]string{
		formatText: "text\n", formatJSON: "{\n  \"a\": 1,\n  \"b\": \"2\"\n}\n", formatYAML: "a: 1\nb: \"2\"\n",
		formatName: "deployment/web\nclusterrole/operon.dev:web\n",
	} {
		if got := printedAs(t, format, as); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	failing := forms{json: func(io.Writer) error { return errors.New("full") }}
	if err := (&output{format: formatYAML}).print(io.Discard, failing); err == nil || err.Error() != "full" {
		t.Error(err)
	}
}

// The names of CRDs are lines that kubectl accepts, and findings still determine the exit code.
func TestNamesOfFindings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	command := &cobra.Command{}
	command.SetOut(&out)
	report := &crdcompat.Report{Definitions: []*crdcompat.Result{{Name: "webs.example.com", Findings: []*crdcompat.Finding{{Breaks: true}}}}}
	err := printFindings(command, report, output{format: formatName})
	var ends exitError
	if !errors.As(err, &ends) || ends.code != exitFindings || out.String() != "customresourcedefinition/webs.example.com\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}
