package operon

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestFlagsOfADryRun(t *testing.T) {
	t.Parallel()
	preview := Preview{Kind: "Box", Namespace: "a", Name: "b"}
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "none"},
		{[]string{"--dry-run"}, "Box a/b: nothing to do\n"},
		{[]string{"--dry-run", "-o", "json"}, `{"kind":"Box","namespace":"a","name":"b","actions":null}` + "\n"},
		{[]string{"--dry-run", "-o", "yaml"}, `-o "yaml": want text or json`},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Parallel()
			f, err := readFlags("box-operator", test.args)
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(f, preview); got != test.want {
				t.Errorf("shows %q, want %q", got, test.want)
			}
		})
	}
}

// shown is what the flags make of a preview.
func shown(f flags, p Preview) string {
	var to strings.Builder
	show, err := f.preview(&to)
	switch {
	case err != nil:
		return err.Error()
	case show == nil:
		return "none"
	}
	show(p)
	return to.String()
}

// Flags that make no sense are refused before a cluster is looked for.
func TestFlagsOfShards(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                             "",
		"--shards 12":                  "",
		"--shards 0":                   "",
		"--shards -1":                  "--shards -1 --shard-lease 15s: -1 shards: want 1 to 64",
		"--shards 1000000":             "--shards 1000000 --shard-lease 15s: 1000000 shards: want 1 to 64",
		"--shards 3 --shard-lease 1ms": "--shards 3 --shard-lease 1ms: a lease of 1ms: want whole seconds, 2s to 1h0m0s",
		"--shard-lease -1s":            "--shards 0 --shard-lease -1s: a lease of -1s: want whole seconds, 2s to 1h0m0s",
	} {
		_, err := readFlags("box-operator", strings.Fields(args))
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

func TestFlagOfNamespaces(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][]string{"": nil, "a": {"a"}, "a,b": {"a", "b"}, "a, b,,a": {"a", "b"}} {
		f, err := readFlags("box-operator", []string{"--namespace", given})
		if err != nil {
			t.Fatal(err)
		}
		if got := (Config{Namespaces: f.namespaces()}).namespaces(); !slices.Equal(got, want) {
			t.Errorf("--namespace %q is %q, want %q", given, got, want)
		}
	}
}

// The comment of Main lists all flags of webhooks.
func TestFlagsOfWebhooksAreListed(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	set := flag.NewFlagSet("box-operator", flag.ContinueOnError)
	(&webhookFlags{}).define(set, "box-operator")
	set.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(string(source), "//\t--"+f.Name+" ") {
			t.Errorf("--%s is not listed", f.Name)
		}
	})
}

func TestFlagsOfTheAuthors(t *testing.T) {
	t.Parallel()
	image := ""
	define := func(set *flag.FlagSet) { set.StringVar(&image, "backup-image", "dump:1", "IMAGE of backups") }
	if _, err := readFlags("box-operator", []string{"--backup-image", "dump:2", "--dry-run"}, define); err != nil || image != "dump:2" {
		t.Errorf("the image is %q, %v", image, err)
	}
	twice := func(set *flag.FlagSet) { set.String("namespace", "", "") }
	if _, err := readFlags("box-operator", nil, define, twice); err == nil || err.Error() != "operon.Flags defines --namespace, which exists already: choose another name" {
		t.Errorf("error %v", err)
	}
}
