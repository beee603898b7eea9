package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command that prints facts has the same flag -o, and each format prints something different.
func TestOutput(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": "as text", "json": "{\n  \"name\": \"dev\"\n}\n", "yaml": "name: dev\n", "name": "cluster/dev\n",
	} {
		var out bytes.Buffer
		command := &cobra.Command{}
		output := outputFlag(command, "the facts", formatName)
		if err := command.ParseFlags([]string{"-o", format}); err != nil {
			t.Fatal(err)
		}
		text := func() error { _, err := out.WriteString("as text"); return err }
		if err := output.print(&out, map[string]string{"name": "dev"}, text, "cluster", "dev"); err != nil || out.String() != want {
			t.Errorf("-o %s: %v, %q, want %q", format, err, out.String(), want)
		}
	}
	command := &cobra.Command{}
	outputFlag(command, "the variables")
	if err := command.ParseFlags([]string{"-o", "name"}); err == nil || !strings.Contains(err.Error(), "want text, json or yaml") {
		t.Error(err)
	}
}
