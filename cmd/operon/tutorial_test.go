package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local"
)

// unpasted are the blocks of the README that the test machine cannot run, by their first line, with the reason.
var unpasted = map[string]string{
	"git clone https://github.com/operon-framework/operon.git": "the test has no network, and has built both commands already: this checkout stands for the clone",
}

// The README and the tutorial work as described: a reader pastes all blocks of the README and then of the tutorial, with one
// cluster, in one directory, with a new home directory. The edits of the tutorial are made, and the output of its commands is
// compared. The last block of the README, which stops the cluster, runs last.
func TestReadmeAndTutorial(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	start := r.dir
	r.env = append(r.env, "TMPDIR="+start)
	r.clone()
	content, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := shellBlock.FindAllStringSubmatch(string(content), -1)
	last := len(blocks) - 1
	if blocks[last][1] != "operon cluster down\n" {
		t.Fatalf("the last block of the README does not stop the cluster: %s", blocks[last][1])
	}
	r.dir = filepath.Join(start, "operon")
	left := 0
	for _, block := range blocks[:last] {
		first, _, _ := strings.Cut(block[1], "\n")
		if reason := unpasted[first]; reason != "" {
			t.Logf("not pasted, because %s:\n%s", reason, block[1])
			left++
			continue
		}
		r.paste(block[1])
	}
	if left != len(unpasted) {
		t.Errorf("%d of %d blocks that are not pasted are in the README", left, len(unpasted))
	}
	r.dir = start
	r.follow("../../docs/tutorial.md")
	r.paste(blocks[last][1])
}

// lacks matches the error on a machine that lacks something for containers or their images.
var lacks = regexp.MustCompile("this machine cannot run a container node|have no package busybox-static")

// patienceOfReaders is the timeout of one command.
const patienceOfReaders = 20 * time.Minute

// reader follows a page like a user who has only that page.
type reader struct {
	t *testing.T
	// dir is the current directory of the reader, env the environment of commands, and bin a directory for programs.
	dir, bin string
	env      []string
	// edited is the file that the text named last.
	edited string
	// here replaces parts of pages that another process on this machine may use.
	here *strings.Replacer
}

func newReader(t *testing.T) *reader {
	t.Helper()
	cluster, err := local.Binary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	home, bin := shortFolder(t), t.TempDir()
	// The default time limits of these commands are too short for a slow machine that runs other tests.
	const patient = "case \"$*\" in 'up --once'* | down* | deploy* | undeploy*) set -- \"$@\" --timeout 10m;; esac\n"
	script := fmt.Sprintf("#!/bin/sh\n%s%s=yes exec '%s' \"$@\"\n", patient, asOperon, os.Args[0])
	testaid.Program(t, filepath.Join(bin, "operon"), script)
	t.Cleanup(func() {
		stop := exec.Command(cluster, "down", "--all")
		stop.Env = append(os.Environ(), "OPERON_HOME="+home)
		if said, err := stop.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, said)
		}
	})
	return &reader{t: t, dir: t.TempDir(), bin: bin, here: strings.NewReplacer(), env: append(os.Environ(),
		"PATH="+bin+":"+os.Getenv("PATH"), "OPERON_HOME="+home, "OPERON_CLUSTER_BINARY="+cluster, "GOFLAGS=-mod=readonly", "GOPROXY=off")}
}

var (
	block     = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	fileNamed = regexp.MustCompile("`([\\w./-]+\\.(?:go|ya?ml|json|j2|sh))`")
)

// clone links this checkout to the current directory, in place of a clone.
func (r *reader) clone() {
	r.t.Helper()
	checkout, err := filepath.Abs("../..")
	if err := errors.Join(err, os.Symlink(checkout, filepath.Join(r.dir, "operon"))); err != nil {
		r.t.Fatal(err)
	}
}

// shortFolder is t.TempDir without the name of the test: the path of a home has to be short enough for the paths of sockets.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// follow executes the instructions of a page.
func (r *reader) follow(page string) {
	r.t.Helper()
	content := []byte(r.here.Replace(testaid.Read(r.t, page)))
	last := 0
	for _, at := range block.FindAllSubmatchIndex(content, -1) {
		for _, named := range fileNamed.FindAllSubmatch(content[last:at[0]], -1) {
			r.edited = string(named[1])
		}
		last = at[1]
		switch text := string(content[at[4]:at[5]]); string(content[at[2]:at[3]]) {
		case "sh":
			r.session(text)
		case "terminal":
			r.open(text)
		case "diff":
			r.edit(text)
		case "go", "yaml", "json", "jinja", "bash":
			r.write(text)
		}
		if r.t.Failed() {
			r.t.FailNow()
		}
	}
}

// paste pastes a block into a terminal: its commands run one at a time, each must succeed, and the next block starts in the
// directory in which the last command ended.
func (r *reader) paste(block string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patienceOfReaders)
	defer cancel()
	where := filepath.Join(r.t.TempDir(), "where")
	run := exec.CommandContext(ctx, "sh", "-exc", block+"pwd > '"+where+"'")
	run.Dir, run.Env, run.WaitDelay = r.dir, r.env, time.Second
	printed, err := run.CombinedOutput()
	if err != nil && lacks.Match(printed) {
		testaid.Lacks(r.t, "%s", printed)
	}
	if err != nil {
		r.t.Fatalf("%v:\n%s", err, printed)
	}
	dir, err := os.ReadFile(where)
	if err != nil {
		r.t.Fatal(err)
	}
	r.dir = strings.TrimSpace(string(dir))
}

// open runs a command in a terminal of its own until the test ends. Then it is interrupted, and has to end.
func (r *reader) open(command string) {
	r.t.Helper()
	run := exec.Command("sh", "-c", "exec "+command)
	var printed bytes.Buffer
	run.Dir, run.Env, run.Stdout, run.Stderr, run.WaitDelay = r.dir, r.env, &printed, &printed, time.Second
	if err := run.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := run.Process.Signal(os.Interrupt); err != nil {
			r.t.Errorf("interrupt %s: %v", command, err)
		}
		if err := run.Wait(); err != nil || r.t.Failed() {
			r.t.Errorf("$ %s\n%s%v", command, printed.String(), err)
		}
	})
}

// session runs the commands of a block, and compares their output if the page shows it.
func (r *reader) session(text string) {
	r.t.Helper()
	commands := regexp.MustCompile(`(?m)^\$ `).Split(text, -1)
	if len(commands) == 1 { // no output is shown
		r.paste(text)
		return
	}
	for _, one := range commands[1:] {
		command, want, _ := strings.Cut(one, "\n")
		if dir, ok := strings.CutPrefix(command, "cd "); ok {
			r.dir = filepath.Join(r.dir, dir)
			continue
		}
		ctx, cancel := context.WithTimeout(r.t.Context(), patienceOfReaders)
		defer cancel()
		run := exec.CommandContext(ctx, "sh", "-c", command+" 2>&1")
		run.Dir, run.Env, run.WaitDelay = r.dir, r.env, time.Second
		got, err := run.Output()
		if lacks.Match(got) {
			testaid.Lacks(r.t, "%s", got)
		}
		if err != nil || !shows(want, string(got)) {
			r.t.Errorf("$ %s\n%s(%v), the page has\n%s\nas compared:\n%s---\n%s", command, got, err, want, blank(string(got)), blank(want))
			return
		}
	}
}

// write writes content to the file that the page named last.
func (r *reader) write(content string) {
	r.t.Helper()
	file := filepath.Join(r.dir, r.edited)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

// edit applies a diff on the page to the file that the page named last.
func (r *reader) edit(diff string) {
	r.t.Helper()
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		if line[0] != '+' {
			before.WriteString(line[1:])
		}
		if line[0] != '-' {
			after.WriteString(line[1:])
		}
	}
	file := filepath.Join(r.dir, r.edited)
	content, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	if n := strings.Count(string(content), before.String()); n != 1 {
		r.t.Fatalf("%s has this %d times:\n%s\nit is\n%s", r.edited, n, before.String(), content)
	}
	edited := strings.Replace(string(content), before.String(), after.String(), 1)
	if err := os.WriteFile(file, []byte(edited), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

var blanks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\x1b\[[0-9;]*m`), ""},
	{regexp.MustCompile(`-[b-df-hj-np-tv-xz2-9]{5,10}(-[b-df-hj-np-tv-xz2-9]{5})?\b`), "-ID"},
	{regexp.MustCompile(`pid \d+`), "pid N"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "DIGEST"},
	{regexp.MustCompile(`linux/\w+: \d+\.\d MB`), "SIZE"},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?\d* ?s\b`), "TIME"},
	{regexp.MustCompile(`\(cached\)`), "TIME"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// shows reports whether a page contains the printed text. An ellipsis on the page matches any text.
func shows(page, printed string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(blank(page)), "…", "(?s:.*)")
	return regexp.MustCompile("^" + pattern + "$").MatchString(blank(printed))
}

// The comparison detects a page that does not match the output.
func TestPagesHaveWhatIsPrinted(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]bool{"one\n…\nfour": true, "…\nfour": true, "one\ntwo\n3 s\nfour": true, "one\n…\nthree": false, "…\none": false, "one": false} {
		if got := shows(page, "one\ntwo\n5 s\nfour\n"); got != want {
			t.Errorf("%q: %t", page, got)
		}
	}
}

// blank replaces the parts of output that differ between runs: times, IDs, and the width of columns.
func blank(text string) string {
	for _, b := range blanks {
		text = b.what.ReplaceAllString(text, b.with)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	return strings.Join(lines, "\n")
}

// order returns a sort key that moves the lines of concurrent steps, which are printed when a step ends, to the end.
func order(line string) string {
	for _, first := range []string{"installed ", "operator built", "removed "} {
		if strings.HasPrefix(line, first) {
			return line
		}
	}
	return ""
}
