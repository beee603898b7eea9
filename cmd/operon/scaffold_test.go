package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// in runs the command in a directory.
func in(t *testing.T, dir string, args ...string) result {
	t.Helper()
	command := asOperonIn(t, args...)
	command.Dir = dir
	return ended(t, command)
}

func TestInitAndCreateShowWhatTheyWouldWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := in(t, dir, "init", "lamp-operator", "--dry-run"); got.code != 0 || !strings.Contains(got.stdout, "==> main.go (new)") {
		t.Errorf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	got := in(t, dir, "init", "lamp-operator", "--domain", "example.org")
	want := "created lamp-operator/README.md\ncreated lamp-operator/go.mod\ncreated lamp-operator/go.sum\ncreated lamp-operator/main.go\nnext:\n  cd lamp-operator\n  operon create api"
	if got.code != 0 || !strings.HasPrefix(got.stdout, want) {
		t.Errorf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	project := filepath.Join(dir, "lamp-operator")
	got = in(t, project, "create", "api", "--group", "home", "--version", "v1", "--kind", "Lamp", "--dry-run")
	for _, part := range []string{"==> lamp.go (new)\npackage main", "==> config/crd/home.example.org_lamps.yaml (new)\n", "+++ b/main.go\n", "+\t\toperon.Manage(Lamp{}),\n"} {
		if got.code != 0 || !strings.Contains(got.stdout, part) {
			t.Errorf("exit %d, %q is not in\n%s\n%s", got.code, part, got.stdout, got.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(project, "lamp.go")); err == nil {
		t.Error("a preview wrote")
	}
}

// Without a terminal, nothing is asked: the error names the flag.
func TestNothingIsAskedWithoutATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := in(t, dir, "init"); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	for args, want := range map[string]string{
		"--kind Lamp --version v1":  "operon: the group is missing: give one with --group, such as cache.example.com\n",
		"--group home --version v1": "operon: the kind is missing: give one with --kind, such as Memcached\n",
		"--group home --kind Lamp":  "operon: the version is missing: give one with --version, such as v1alpha1\n",
	} {
		if got := in(t, dir, append([]string{"create", "api"}, strings.Fields(args)...)...); got.code != exitFailed || got.stderr != want {
			t.Errorf("%s: exit %d\n%s", args, got.code, got.stderr)
		}
	}
}

func TestQuestionsAreAskedUntilTheAnswerFits(t *testing.T) {
	before := onTerminal
	onTerminal = func() bool { return true }
	defer func() { onTerminal = before }()
	var group, version, kind string
	command := &cobra.Command{}
	command.SetIn(strings.NewReader("cache\n\nmemcached\nMemcached\n"))
	nameFlags(command, new(string), &group, &version, &kind)
	asked := newQuestions(command)
	if askNames(asked, &group, &version, &kind); asked.err != nil || group != "cache" || version != "v1alpha1" || kind != "Memcached" {
		t.Errorf("%q %q %q, %v", group, version, kind, asked.err)
	}
	command = &cobra.Command{}
	command.SetIn(strings.NewReader(""))
	nameFlags(command, new(string), &group, &version, &kind)
	asked = newQuestions(command)
	if askNames(asked, &group, &version, &kind); asked.err == nil || asked.err.Error() != "no answer: give --group" {
		t.Error(asked.err)
	}
}

// Every command has examples, and the command accepts each line of them.
func TestExamplesParse(t *testing.T) {
	t.Parallel()
	checkExamples(t, newRoot())
}

func checkExamples(t *testing.T, command *cobra.Command) {
	t.Helper()
	if command.Example == "" {
		t.Errorf("%s has no example", command.CommandPath())
	}
	for line := range strings.Lines(command.Example) {
		checkExample(t, command, strings.TrimSpace(line))
	}
	for _, sub := range command.Commands() {
		checkExamples(t, sub)
	}
}

func checkExample(t *testing.T, command *cobra.Command, line string) {
	t.Helper()
	if _, after, is := strings.Cut(line, "$("); is { // output that another command uses
		line, _, _ = strings.Cut(after, ")")
	}
	words := shellWords(line)
	if len(words) == 0 || words[0] == "kubectl" {
		return
	}
	if words[0] != "operon" {
		t.Errorf("%s: the example %q does not begin with operon", command.CommandPath(), line)
		return
	}
	root := newRoot()
	found, rest, err := root.Find(words[1:])
	if err != nil || found.DisableFlagParsing {
		if err != nil {
			t.Errorf("%s: %q: %v", command.CommandPath(), line, err)
		}
		return
	}
	found.SetOut(new(bytes.Buffer))
	if err := found.ParseFlags(rest); err != nil {
		t.Errorf("%s: %q: %v", command.CommandPath(), line, err)
		return
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		t.Errorf("%s: %q: %v", command.CommandPath(), line, err)
	}
}

// shellWords returns the words of the first command in a line. It supports only simple shell syntax.
func shellWords(line string) []string {
	var words []string
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`).FindAllString(line, -1) {
		if strings.HasPrefix(word, "#") || word == ">" || word == "|" || word == "&&" {
			break
		}
		words = append(words, strings.Trim(word, `'"`))
	}
	return words
}
