package view

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/terminal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

var rewrite = flag.Bool("rewrite", false, "write the pictures to testdata")

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// node returns a node that was created the given time ago.
func node(kind, name string, state tree.State, message string, ago time.Duration, children ...*tree.Node) *tree.Node {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": kind}}
	object.SetName(name)
	object.SetNamespace("default")
	object.SetCreationTimestamp(metav1.NewTime(now.Add(-ago)))
	return &tree.Node{Object: object, State: state, Message: message, Children: children}
}

func withConditions(n *tree.Node, conditions ...any) *tree.Node {
	n.Object.Object["status"] = map[string]any{"conditions": conditions}
	return n
}

// busy returns a state that contains everything.
func busy() State {
	first := withConditions(node("Web", "shop", tree.InProgress, "Deployment shop: 1/2 ready", 95*time.Second,
		node("Deployment", "shop", tree.InProgress, "1/2 ready", 94*time.Second,
			node("ReplicaSet", "shop-5695675476", tree.InProgress, "1/2 ready", 94*time.Second,
				node("Pod", "shop-5695675476-4z7lb", tree.Ready, "Running", 90*time.Second),
				node("Pod", "shop-5695675476-5c4kf", tree.InProgress, "container web waits: ImagePullBackOff: Back-off pulling image \"web:2\"", 8*time.Second))),
		node("Service", "shop", tree.Ready, "", 94*time.Second)),
		map[string]any{"type": "Ready", "status": "False", "reason": "ChildNotReady"},
		map[string]any{"type": "Reconciling", "status": "True", "reason": "ChildNotReady"})
	return State{
		Now: now, Project: "web-operator", Cluster: `cluster "default" (v1.37.2)`,
		Operator: Operator{Phase: Running, PID: 4711, Since: now.Add(-3 * time.Minute), Restarts: 1, Rebuilding: true, Reconciles: 12, PerSecond: 0.4},
		Problems: []Problem{
			{Title: "the operator does not compile; the previous build keeps running", Lines: []string{"# example.com/web", "./main.go:7:2:\tdeclared and not used: x"}},
			{Title: "a long one", Lines: strings.Split(strings.Repeat("line\n", 39)+"last", "\n")},
		},
		Tree: tree.Snapshot{
			Roots: []*tree.Node{first, node("Web", "gone", tree.Missing, "not in the cluster", 0)},
			Events: []tree.Event{
				{Object: "Pod default/old", Reason: "Old", Message: "not shown: only the last five are", Last: now.Add(-time.Hour), Count: 1},
				{Object: "Web default/shop", Reason: "Created", Message: "created Deployment shop", Last: now.Add(-95 * time.Second), Count: 1},
				{Object: "Pod default/shop-1", Type: "Warning", Reason: "Failed", Message: "Error: ImagePullBackOff", Last: now.Add(-3 * time.Second), Count: 4},
				{Object: "Web default/a", Reason: "A", Last: now, Count: 1},
				{Object: "Web default/b", Reason: "B", Last: now, Count: 1},
				{Object: "Web default/c", Reason: "C", Last: now.Add(time.Second), Count: 1},
			},
		},
		Unseen: []string{"secrets", "nodes"},
		Log:    []string{"not shown: only the last four are", "one", "two", "three\ttabs", "four"},
		Hint:   "Ctrl-C stops the operator",
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	waiting := State{Now: now, Project: "web-operator", Cluster: "https://example.com", Operator: Operator{Phase: Waiting, Restarts: 3, Reconciles: -1}}
	silent := State{Now: now, Project: "web-operator", Cluster: "https://example.com", Operator: Operator{Phase: Running, PID: 1, Since: now, Reconciles: -1}}
	for name, lines := range map[string][]string{
		"busy-120.txt":    Render(busy(), 120, Monochrome),
		"busy-60.txt":     Render(busy(), 60, Monochrome),
		"busy-colour.txt": Render(busy(), 100, Colour),
		"waiting.txt":     Render(waiting, 80, Monochrome),
		"silent.txt":      Render(silent, 80, Monochrome),
		"tree.txt":        Tree(busy(), 100, Monochrome),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\x1b", "^"))
		})
	}
}

// golden compares with a file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -rewrite writes it", err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEveryLineFitsItsWidth(t *testing.T) {
	t.Parallel()
	for width := 20; width < 140; width += 7 {
		for _, line := range Render(busy(), width, Colour) {
			if terminal.Width(line) > width {
				t.Errorf("at %d columns: %q", width, line)
			}
		}
	}
}

// Clients that may write a status or an event must not be able to control the terminal.
func TestEscapeSequencesFromTheClusterAreNotWritten(t *testing.T) {
	t.Parallel()
	const hostile = "\u009b2J\x1b[2J\x1b]0;title\a\rforged"
	state := State{
		Now: now, Operator: Operator{Phase: Running}, Log: []string{hostile}, Problems: []Problem{{Title: hostile, Lines: []string{hostile}}},
		Tree: tree.Snapshot{
			Roots:  []*tree.Node{withConditions(node("Web", hostile, tree.Failed, hostile, 0), map[string]any{"type": hostile, "status": hostile, "reason": hostile})},
			Events: []tree.Event{{Object: "Web default/a", Reason: hostile, Message: hostile, Last: now}},
		},
	}
	var out bytes.Buffer
	NewPlain(&out, now.Add(-time.Hour)).Update(state)
	for what, text := range map[string]string{"plain": out.String(), "picture": strings.Join(Render(state, 100, Monochrome), "\n")} {
		if strings.ContainsAny(text, "\u009b\x1b\a\r") || !strings.Contains(text, "forged") {
			t.Errorf("%s: %q", what, text)
		}
	}
}

func TestPlainWritesWhatChanged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	plain := NewPlain(&out, now.Add(-10*time.Second))
	plain.Update(busy())
	plain.Update(busy())
	out.WriteString("--- changed\n")
	changed := busy()
	changed.Operator = Operator{Phase: Waiting}
	changed.Problems = changed.Problems[1:]
	changed.Problems[0].Lines = []string{"other"}
	changed.Tree.Roots = changed.Tree.Roots[1:]
	changed.Tree.Roots[0].State = tree.Ready
	plain.Update(changed)
	golden(t, "plain.txt", out.String())
}

func TestATallPictureLosesItsMiddle(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 40 {
		lines = append(lines, strings.Repeat("x", i))
	}
	got := fit(lines, 11)
	if len(got) != 11 || got[0] != lines[0] || got[5] != "… 30 more lines" || got[10] != lines[39] {
		t.Errorf("%d lines: %q", len(got), got)
	}
	if got := fit(lines[:5], 11); len(got) != 5 {
		t.Errorf("a small one has %d lines", len(got))
	}
}

func TestThePictureReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	terminal := &Terminal{}
	if got := terminal.replace([]string{"a", "b"}, 80); got != "\x1b[?25la\x1b[K\nb\x1b[K\n\x1b[J" {
		t.Errorf("first %q", got)
	}
	if got := terminal.replace([]string{"c"}, 80); got != "\x1b[?25l\x1b[2A\rc\x1b[K\n\x1b[J" {
		t.Errorf("second %q", got)
	}
	if got := terminal.replace([]string{"d"}, 60); got != "\x1b[?25l\x1b[2J\x1b[Hd\x1b[K\n\x1b[J" {
		t.Errorf("after a resize %q", got)
	}
}

// Of the escape sequences in lines, the picture has only the colors.
func TestThePictureHasNoEscapeSequencesFromLines(t *testing.T) {
	t.Parallel()
	got := (&Terminal{}).replace([]string{"\x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\a\rforged\u009b2J"}, 80)
	if want := "\x1b[?25l" + "\x1b[31mred\x1b[0m�[2J�]0;title��forged�2J" + "\x1b[K\n\x1b[J"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFilesAreNoTerminals(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if NewTerminal(file, Monochrome) != nil || StyleFor(file) != Monochrome || Width(file) != plainWidth {
		t.Error("a file is taken for a terminal")
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for passed, want := range map[time.Duration]string{-time.Second: "0s", 59 * time.Second: "59s", time.Hour - 1: "59m", 47 * time.Hour: "47h", 50 * time.Hour: "2d"} {
		if got := age(now, now.Add(-passed)); got != want {
			t.Errorf("%s is %s, want %s", passed, got, want)
		}
	}
}
