package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const commandsPage = "../../docs/reference/commands.md"

// TestCommandsPage checks that docs/reference/commands.md is equal to the help of all commands.
func TestCommandsPage(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	page.WriteString("# Commands\n\nThe help of every command of `operon`, as `operon COMMAND --help` prints it. [Exit codes](exit-codes.md) and [environment\nvariables](environment.md) have pages of their own.\n")
	root := newRoot()
	root.InitDefaultHelpFlag()
	if n := writeHelp(t, &page, root); n < 30 {
		t.Fatalf("found only %d commands", n)
	}
	if *rewrite {
		if err := os.WriteFile(commandsPage, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	is, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(is, page.Bytes()) {
		t.Errorf("%s is not what the commands' help says: `go test ./cmd/operon -run %s -rewrite` writes it", commandsPage, t.Name())
	}
}

// writeHelp writes a section for a command and for each subcommand, and returns their number.
func writeHelp(t *testing.T, page *bytes.Buffer, command *cobra.Command) int {
	t.Helper()
	var help bytes.Buffer
	command.SetOut(&help)
	command.SetErr(&help)
	if err := command.Help(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(page, "\n## %s\n\n```text\n%s\n```\n", command.CommandPath(), strings.TrimRight(help.String(), "\n"))
	count := 1
	for _, child := range command.Commands() {
		if !child.Hidden && child.Name() != "help" {
			count += writeHelp(t, page, child)
		}
	}
	return count
}
