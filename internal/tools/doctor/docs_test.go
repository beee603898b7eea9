package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// TestDocs: docs/lint.md contains the descriptions of all rules, each with its finding in its bad case.
func TestDocs(t *testing.T) {
	t.Parallel()
	const file, heading = "../../../docs/lint.md", "## The rules\n"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(content), heading)
	if !found {
		t.Fatalf("%s has no heading %q", file, heading)
	}
	var all strings.Builder
	all.WriteString(before + heading)
	for _, severity := range rule.Severities {
		fmt.Fprintf(&all, "\n### %s\n", map[rule.Severity]string{rule.Error: "Errors", rule.Warning: "Warnings", rule.Advice: "Advice"}[severity])
		for _, r := range Rules() {
			if r.Severity == severity {
				all.WriteString(documented(t, r))
			}
		}
	}
	golden(t, file, []byte(all.String()))
}

// documented returns the documentation of a rule.
func documented(t *testing.T, r *rule.Rule) string {
	t.Helper()
	bad := findings(t, r, "bad")
	if len(bad) == 0 {
		t.Fatalf("%s finds nothing in its bad case", r.Name)
	}
	first := bad[0]
	language := "yaml"
	if strings.HasSuffix(first.File, ".go") {
		language = "go"
	}
	return fmt.Sprintf("\n#### %s\n\n%s %s\n\n*Fix:* %s.\n\n```%s\n%s```\n\n`%s`: %s.\n", r.Name, r.About, r.Reason, r.Fix,
		language, snippet(t, filepath.Join("testdata", "rules", r.Name, "bad", filepath.FromSlash(first.File)), first.Line), first.Place, first.Message)
}

// snippet returns a line of a file and its neighbors, without their common indentation.
func snippet(t *testing.T, file string, line int) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.ReplaceAll(string(content), "\t", "    "), "\n")
	some := slices.Clone(lines[max(0, line-2):min(len(lines), line+2)])
	for len(some) > 0 && strings.TrimSpace(some[0]) == "" {
		some = some[1:]
	}
	least := 100
	for _, one := range some {
		if trimmed := strings.TrimLeft(one, " "); trimmed != "" {
			least = min(least, len(one)-len(trimmed))
		}
	}
	var all strings.Builder
	for _, one := range some {
		all.WriteString(strings.TrimRight(one[min(least, len(one)):], " ") + "\n")
	}
	return strings.TrimRight(all.String(), "\n") + "\n"
}
