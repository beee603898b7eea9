package projectfile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spf13/pflag"

	"github.com/operon-framework/operon/internal/tools/projectfile"
)

// Each invalid file results in one error, at the line of the problem.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"replica: 3\n":                    `operon.yaml:1: unknown key "replica"; did you mean "replicas"?`,
		"\nmemroy: 1Gi\n":                 `operon.yaml:2: unknown key "memroy"; did you mean "memory"?`,
		"watchNamespaces: [a]\n":          `operon.yaml:1: unknown key "watchNamespaces"; did you mean "watch-namespaces"?`,
		"memory-limit: 1Gi\n":             `operon.yaml:1: unknown key "memory-limit"; did you mean "memory"?`,
		"push: a.b/c\n":                   `operon.yaml:1: unknown key "push"; want "registry" and "image"`,
		"context: staging\n":              `operon.yaml:1: unknown key "context"; clusters of a kubeconfig differ between machines: use the flag --context`,
		"xyzzy: 3\n":                      `operon.yaml:1: unknown key "xyzzy"; the keys are arg, cluster, image, main, memory, namespace, platform, pod-annotation, registry, replicas, shards, watch-namespaces`,
		"? [a]\n: b\n":                    `operon.yaml:1: unknown key ""; the keys are arg, cluster, image, main, memory, namespace, platform, pod-annotation, registry, replicas, shards, watch-namespaces`,
		"replicas: 3\n# x\nreplicas: 4\n": `operon.yaml:3: replicas is set twice, first in line 1`,
		"replicas: three\n":               `operon.yaml:1: replicas: want a whole number, got "three"`,
		"replicas: \"3\"\n":               `operon.yaml:1: replicas: want a whole number, got "3"`,
		"replicas: 3.5\n":                 `operon.yaml:1: replicas: want a whole number, got "3.5"`,
		"replicas: 0x10\n":                `operon.yaml:1: replicas: want a whole number, got "0x10"`,
		"replicas: 99999999999\n":         `operon.yaml:1: replicas: want a whole number, got "99999999999"`,
		"replicas:\n":                     `operon.yaml:1: replicas: want a whole number, got nothing`,
		"replicas: [3]\n":                 `operon.yaml:1: replicas: want a whole number, got a list`,
		"image: web:1\nreplicas: 0\n":     `operon.yaml:2: replicas: want at least 1, got 0`,
		"shards: -1\n":                    `operon.yaml:1: shards: want at least 0, got -1`,
		"shards: 12\n":                    `operon.yaml:1: shards needs replicas: all replicas together reconcile the shards, so state how many there are`,
		"image: 1.0\n":                    `operon.yaml:1: image: want the name of an image, got "1.0"; write it in quotes: "1.0"`,
		"image: Web\n":                    `operon.yaml:1: image: "Web": invalid reference format: repository name (library/Web) must be lowercase`,
		"image: &a web\nregistry: *a\n":   `operon.yaml:2: registry: want a registry such as registry.example.com/team, got an alias`,
		"registry: r.example.com\n":       `operon.yaml:1: registry needs image: the name of the image in the registry, such as web:1.0`,
		"image: web@sha256:" + digest + "\nregistry: r.io\n":          `operon.yaml:1: image web@sha256:` + digest + ` has a digest, which results from the build: remove it, or the registry`,
		"registry: r.example.com\n\nimage: other.example.com/web:1\n": `operon.yaml:3: image other.example.com/web:1 is not in registry r.example.com: remove one of them, or the registry from the image's name`,
		"memory: lots\n":                     `operon.yaml:1: memory: want an amount such as 512Mi, got "lots"`,
		"memory: 0\n":                        `operon.yaml:1: memory: want an amount such as 512Mi, got "0"`,
		"namespace: Web\n":                   `operon.yaml:1: namespace: "Web" is not a valid name: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		"watch-namespaces: a\n":              `operon.yaml:1: watch-namespaces: want a list of namespaces such as [a, b], got "a"`,
		"watch-namespaces: []\n":             `operon.yaml:1: watch-namespaces: want a list of namespaces such as [a, b], got an empty list`,
		"platform: [linux/amd64, windows]\n": `operon.yaml:1: platform: want linux/ARCH such as linux/amd64, got "windows"`,
		"main: ../other\n":                   `operon.yaml:1: main: want a directory in the project`,
		"arg: ['']\n":                        `operon.yaml:1: arg: want text, got nothing, in line 1`,
		"pod-annotation: {a: 1}\n":           `operon.yaml:1: pod-annotation: want text for a, got "1"; write it in quotes: "1"`,
		"pod-annotation: {a: b, a: c}\n":     `operon.yaml:1: pod-annotation: a is set twice, again in line 1`,
		"pod-annotation: {a b: c}\n":         `operon.yaml:1: pod-annotation: "a b" is not a valid name of an annotation: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		"- replicas\n":                       `operon.yaml:1: want settings such as "replicas: 3", got a list`,
		"replicas: 3\n---\nreplicas: 3\n":    `operon.yaml:2: want one YAML document, not several`,
		"replicas: 3\n\tx: 2\n":              `operon.yaml:2: not valid YAML: found a tab character that violates indentation`,
		"image: \x00\n":                      `operon.yaml:1: not valid YAML: control characters are not allowed`,
	} {
		if _, err := projectfile.Parse(projectfile.Name, []byte(content)); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", content, err, want)
		}
	}
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

const all = `# what this project is deployed as
image: web:1.0
registry: registry.example.com/team
platform: [linux/amd64, linux/arm64]
cluster: dev
main: cmd/manager
namespace: web-system
replicas: 3
shards: 12
memory: 512Mi
watch-namespaces:
- a
- b
pod-annotation:
  example.com/json: '{"a":1}'
arg:
- --color=red, blue
`

// flags returns the flags of a command with one for each key.
func flags() *pflag.FlagSet {
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, name := range []string{"push", "image", "cluster", "context", "main", "namespace", "memory"} {
		set.String(name, "", "")
	}
	for _, name := range []string{"replicas", "shards"} {
		set.Int(name, 2, "")
	}
	for _, name := range []string{"platform", "watch-namespaces"} {
		set.StringSlice(name, nil, "")
	}
	set.StringToString("pod-annotation", nil, "")
	set.StringArray("arg", nil, "")
	return set
}

var everything = projectfile.Excluded{
	"push": {"image"}, "image": {"push"}, "platform": nil, "cluster": {"context"}, "main": nil, "namespace": nil,
	"replicas": nil, "shards": nil, "memory": nil, "watch-namespaces": nil, "pod-annotation": nil, "arg": nil,
}

// A flag in the command line takes precedence over the file, and the file over the default.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	settings, err := projectfile.Parse(projectfile.Name, []byte(all))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		given []string
		want  map[string]string
	}{
		{nil, map[string]string{
			"push": "registry.example.com/team/web:1.0", "image": "", "platform": "[linux/amd64,linux/arm64]", "cluster": "dev", "main": "cmd/manager",
			"namespace": "web-system", "replicas": "3", "shards": "12", "memory": "512Mi", "watch-namespaces": "[a,b]",
			"pod-annotation": `["example.com/json={""a"":1}"]`, "arg": `["--color=red, blue"]`,
		}},
		{[]string{"--image=other", "--context=staging", "--replicas=2", "--watch-namespaces=c", "--pod-annotation=b=c"}, map[string]string{
			"push": "", "image": "other", "cluster": "", "context": "staging", "replicas": "2", "watch-namespaces": "[c]", "pod-annotation": "[b=c]",
		}},
		{[]string{"--push="}, map[string]string{"push": "", "image": ""}},
	} {
		set := flags()
		if err := set.Parse(test.given); err != nil {
			t.Fatal(err)
		}
		if err := settings.Fill(set, everything); err != nil {
			t.Fatal(err)
		}
		for name, want := range test.want {
			if got := set.Lookup(name).Value.String(); got != want {
				t.Errorf("%v: --%s is %s, want %s", test.given, name, got, want)
			}
		}
	}
}

// A command gets only the flags that it lists.
func TestFlagsThatACommandDoesNotTake(t *testing.T) {
	t.Parallel()
	settings, err := projectfile.Parse(projectfile.Name, []byte(all))
	if err != nil {
		t.Fatal(err)
	}
	set := flags()
	if err := settings.Fill(set, projectfile.Excluded{"memory": nil}); err != nil {
		t.Fatal(err)
	}
	if got := set.Lookup("replicas").Value.String(); got != "2" {
		t.Errorf("--replicas is %s", got)
	}
	if got, ok := settings.Flag("memory"); got != "512Mi" || !ok {
		t.Errorf("memory: %q, %v", got, ok)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none, err := projectfile.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := none.Flag("image"); ok || none.Fill(flags(), everything) != nil {
		t.Error("a project without the file has settings")
	}
	if err := os.WriteFile(filepath.Join(dir, "operon.yml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := projectfile.Read(dir); err == nil || err.Error() != filepath.Join(dir, "operon.yml")+": rename this file to operon.yaml" {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "operon.yaml"), []byte("\n# nothing yet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := projectfile.Read(dir); err != nil {
		t.Error(err)
	}
}

var located = regexp.MustCompile(`^operon\.yaml:[1-9][0-9]*: [[:print:]]`)

// Any file results either in flags that every command accepts, or in one error with a line.
func FuzzParse(f *testing.F) {
	f.Add(all)
	f.Add("")
	f.Add("a: *b\n")
	f.Add("<<: {image: web}\n")
	f.Add("replicas: !!int three\n")
	f.Add("? {a: b}\n: c\n")
	f.Add("\xff\xfe")
	f.Add("pod-annotation: {a: 'x=y,\"', b: ' z'}\n")
	f.Fuzz(func(t *testing.T, content string) {
		settings, err := projectfile.Parse(projectfile.Name, []byte(content))
		if err != nil {
			if !located.MatchString(err.Error()) {
				t.Fatalf("%q: error without a line: %q", content, err)
			}
			return
		}
		if err := settings.Fill(flags(), everything); err != nil {
			t.Fatalf("%q: %v", content, err)
		}
	})
}
