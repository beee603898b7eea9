package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// The commands on the pages exist, with the flags that are shown. A pasted block does not stop at a command that runs until it
// is interrupted.
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

// The block of README.md that installs Operon works in an empty directory. TestReadmeAndTutorial pastes the other blocks. The
// clone is a clone of this repository. Only the build is not repeated: make copies the binaries that `make binaries` built
// before the tests.
func TestReadmeInstalls(t *testing.T) {
	t.Parallel()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	binaries := filepath.Join(repository, "bin")
	if _, err := os.Stat(filepath.Join(binaries, "operon")); err != nil {
		testaid.Lacks(t, "run `make binaries` first: %v", err)
	}
	content, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	install := ""
	for _, block := range shellBlock.FindAllStringSubmatch(string(content), -1) {
		if strings.Contains(block[1], "git clone") {
			install = block[1]
		}
	}
	tools := t.TempDir()
	testaid.Program(t, filepath.Join(tools, "make"), "#!/bin/sh\n[ \"$*\" = binaries ] && mkdir -p bin && ln -s '"+binaries+"/operon' '"+binaries+"/operon-cluster' bin/\n")
	ctx, cancel := context.WithTimeout(t.Context(), patienceOfReaders)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-e")
	shell.Dir, shell.Stdin, shell.WaitDelay = t.TempDir(), strings.NewReader(install+"operon version\n"), time.Second
	shell.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"),
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=url."+repository+".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/operon-framework/operon.git",
		"GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*")
	said, err := shell.CombinedOutput()
	if err != nil || install == "" || !strings.Contains(string(said), "operon ") {
		t.Fatalf("%q: %v\n%s", install, err, said)
	}
}
