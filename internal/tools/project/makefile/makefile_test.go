package makefile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/tools/project/makefile"
)

func parse(t *testing.T, content string) *makefile.File {
	t.Helper()
	read, err := makefile.Parse("Makefile", []byte(content), nowhere)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func nowhere(string) ([]byte, error) { return nil, errors.New("there is no such file") }

// said formats all commands, one in a line, with words separated by | and ? for unknown text.
func said(read *makefile.File) string {
	var lines []string
	for _, command := range read.Commands() {
		condition := ""
		if command.Conditional {
			condition = " if"
		}
		line := fmt.Sprintf("%s %d %s%s: %s", command.Target, command.Line, command.Dir, condition, strings.Join(command.Words, "|"))
		lines = append(lines, strings.ReplaceAll(line, string(makefile.Unknown), "?"))
	}
	return strings.Join(lines, "\n")
}

func TestCommandsOfRecipes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ makefile, want string }{
		"deferred, immediate and default variables": {"A = $(B)\nB = 1\nC := $(B)\nB = 2\nB ?= 3\nD ?= 4\nx:\n\techo $(A) ${C} $D $$ $(NONE).\n", "x 8 .: echo|2|1|4|?|."},
		"appended variables":                        {"A = $(B)\nA += c\nB := b\nD := $(B)\nD += $(A)\nx:\n\techo $(A) $(D)\n", "x 7 .: echo|b|c|b|b|c"},
		"variables of a target":                     {"A = 1\nx: A = 2\nB = 1\ny: B += 3\nx:\n\techo $(A) $(B)\n", "x 6 .: echo|?|?"},
		"continued lines":                           {"A = a \\\n   b\nx: \\\n  y\n\techo $(A) \\\n\t  c\\\nd\n", "x 5 .: echo|a|b|cd"},
		"quotes":                                    {"x:\n\techo 'a b' \"c \\\" d\"'e' f\\ g \"\" '$$h' \"$$i\" `j` \"\\$$k\" # l\n", `x 2 .: echo|a b|c " de|f g||$h|?|?|$k`},
		"several commands":                          {"x:\n\t@A=1 B=2 echo a >/dev/null 2>&1 && (echo b; { echo c | cat; }) || ! echo d &\n", "x 2 .: echo|a\nx 2 .: echo|b\nx 2 .: echo|c\nx 2 .: cat\nx 2 .: echo|d"},
		"nested substitutions":                      {"x:\n\techo $$(a $$(b) c)/d ${e} $${f}\n", "x 2 .: echo|?/d|?"},
		"directories":                               {"x:\n\tcd a && cd b; echo c\n\techo d\n\tcd / && echo e\n", "x 2 a/b: echo|c\nx 3 .: echo|d\nx 4 ?: echo|e"},
		"subshells":                                 {"x:\n\t(cd a && (cd b; echo c) && echo d) && echo e\n\techo f)\n", "x 2 a/b: echo|c\nx 2 a: echo|d\nx 2 .: echo|e\nx 3 .: echo|f"},
		"the directory of the Makefile":             {"R := $(CURDIR)\nx:\n\tcd a/b && echo $(R)/c $(PWD) $(shell pwd)/d && cd $(R)/e && echo $(R)\n\tcd .. && echo $(R)\n", "x 3 a/b: echo|../../c|../..|../../d\nx 3 e: echo|..\nx 4 ..: echo|?"},
		"a prefix that an include sets":             {"include y\nx:\n\t$(Q)cd a && $(Q)go run b\n", "x 3 a: go|run|b"},
		"what an include begins":                    {"include y\nA += b\nx:\n\techo $(A)\n", "x 4 .: echo|?"},
		"blank lines and comments in a recipe":      {"x:\n\techo a\n\n# b\n\techo c\n  \n\techo d\n", "x 2 .: echo|a\nx 5 .: echo|c\nx 7 .: echo|d"},
		"variables under conditions":                {"A = 1\nB = 1\nifeq (a,b)\nA = 1\nelse ifneq \"a\" 'a'\nB = 2\nelse\nC = 3\nendif\nx:\n\techo $(A) $(B) $(C)\n", "x 11 .: echo|1|?|?"},
		"recipes under conditions":                  {"x:\nifeq (a,b)\n\techo 1\nelse\n\techo 2\nendif\n\techo 3\n", "x 3 . if: echo|1\nx 5 . if: echo|2\nx 7 .: echo|3"},
		"what only a shell can tell":                {"A != uname\nB = $(shell uname)\nx:\n\techo $(A)a $(B)b $(shell pwd)/c $(wildcard *.go) $(foreach a,b,c) $(CURDIR) $@\n", "x 4 .: echo|?a|?b|./c|?|?|.|?"},
		"the year":                                  {"A ?= $(shell date +%Y)\nB := $(shell date -u +%Y)\nx:\n\techo $(A) $(B) $(shell date)\n", "x 4 .: echo|" + time.Now().Format("2006") + "|" + time.Now().UTC().Format("2006") + "|?"},
		"where a tool is":                           {"A = $(shell which a)\nB := $(shell command -v b)\nx:\n\techo $(A) $(B)\n", "x 4 .: echo|a|b"},
		"defines":                                   {"define run\n@[ -f $(1) ] || { \\\necho $(2) ; \\\n}\nendef\nx:\n\t$(call run,a,b c)\n\techo $(run)\n", "x 7 .: ?\nx 8 .: echo|?"},
		"variables that contain each other":         {"A = $(B)\nB = $(A)\nx:\n\techo $(A)\n", "x 4 .: echo|?"},
		"a recipe beside its target":                {"x: y; echo a\n", "x 1 .: echo|a"},
		"exported and overridden variables":         {"export A = 1\noverride B := 2\nexport A\nx:\n\techo $(A) $(B)\n", "x 5 .: echo|1|2"},
		"what looks like an assignment":             {"w: a ; b=c\n\techo d\n", "w 2 .: echo|d"},
		"lines as Windows ends them":                {"x:\r\n\techo a \\\r\n\tb\r\n", "x 2 .: echo|a|b"},
		"comments":                                  {"A = a # b\n# c\\\nx = 1\nx: ## help\n\techo $(A)#d\n", "x 5 .: echo|a#d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := said(parse(t, test.makefile)); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	read := parse(t, "a: b | c\nb: d\nd: a\ne: a\n")
	for _, target := range []string{"a", "b", "c", "d"} {
		if !read.Needs("a", target) {
			t.Errorf("a does not need %s", target)
		}
	}
	if read.Needs("a", "e") {
		t.Error("a needs e")
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"x:\n\techo\nendif\n": "Makefile:3: endif without a condition",
		"\nelse\n":            "Makefile:2: else without a condition",
		"ifdef A\n\nb = c\n":  "Makefile:1: the condition that begins here has no endif",
		"\ndefine a\nb\n":     "Makefile:2: the define that begins here has no endef",
	} {
		if _, err := makefile.Parse("Makefile", []byte(content), nowhere); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", content, err, want)
		}
	}
}

// TestGrowthIsBounded: a value that doubles forty times is not expanded completely.
func TestGrowthIsBounded(t *testing.T) {
	t.Parallel()
	content := "A0 = xxxxxxxx\n"
	for i := range 39 {
		content += fmt.Sprintf("A%d = $(A%d)$(A%d)\n", i+1, i, i)
	}
	content += "x:\n\techo $(A39)\n"
	if commands := parse(t, content).Commands(); len(commands) == 0 {
		t.Error("no command is left")
	}
	content = strings.ReplaceAll(content, " = ", " := ")
	if commands := parse(t, content).Commands(); len(commands) == 0 {
		t.Error("no command is left")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"A = $(B)\nx: y ; echo $(A)\n\tcd a && $(A) 'b' \"c\" > d\n", "define a\nb\nendef\n$(call a,b)\n", "ifeq (a,$(shell b))\nelse ifdef c\nendif\n",
		"A += $(A)\nx:\n\t$(subst a,b,$(A))\n", "$", "$(", "x:\n\t$\\", "include $(A)\n", "a::=b\nc!=d\nx: e=f\n", "x:\n\techo ${", "\t\n:\n\t'",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		included := func(string) ([]byte, error) { return []byte("include y\nA += b\n"), nil }
		read, err := makefile.Parse("Makefile", []byte(content), included)
		if err != nil {
			return
		}
		lines := strings.Count(content, "\n") + 1
		for _, command := range read.Commands() {
			if len(command.Words) == 0 || command.Line < 1 || command.Line > lines+2 {
				t.Fatalf("command %+v", command)
			}
		}
	})
}
