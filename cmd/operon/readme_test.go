package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// The commands that pages show exist, with the flags that are shown, and a block that is pasted does not stop
// at a command that runs until it is interrupted.
func TestPagesShowRealCommands(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"README.md", "docs/tutorial.md", "docs/install.md"} {
		content, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shellBlock.FindAllStringSubmatch(string(content), -1) {
			checkBlock(t, page, block[1])
		}
	}
}

func checkBlock(t *testing.T, page, block string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(block), "\n")
	for i, line := range lines {
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "$ "), " #")
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "operon" {
			continue
		}
		command, args, err := newRoot().Find(words[1:])
		if err != nil {
			t.Errorf("%s: %s: %v", page, line, err)
			continue
		}
		if !command.HasParent() {
			t.Errorf("%s: %s: unknown command", page, line)
			continue
		}
		if command.DisableFlagParsing {
			continue
		}
		if err := command.ParseFlags(args); err != nil {
			t.Errorf("%s: %s: %v", page, line, err)
		}
		if command.Name() == "up" && !strings.Contains(line, "--once") && i < len(lines)-1 && !strings.HasPrefix(lines[0], "$") {
			t.Errorf("%s: %s blocks: the lines after it never run", page, line)
		}
	}
}
