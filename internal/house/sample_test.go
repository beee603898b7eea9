package house

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	samples = flag.Int("sample", 0, "print so many random paragraphs of the documentation")
	seed    = flag.Uint64("seed", 1, "which paragraphs -sample draws")
)

// paragraph is a block of prose on a page.
type paragraph struct {
	page string
	line int
	text string
}

// TestSample selects random paragraphs of the documentation, for a manual review of their wording:
//
//	go test ./internal/house -run TestSample -v -args -sample 30 -seed 1
func TestSample(t *testing.T) {
	t.Parallel()
	all := paragraphs(t)
	if len(all) < 500 {
		t.Fatalf("found only %d paragraphs", len(all))
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, p := range all[:min(*samples, len(all))] {
		fmt.Printf("%s:%d\n%s\n\n", p.page, p.line, p.text)
	}
}

// paragraphs returns the prose of the pages that users read, without code, tables, headings and design decisions.
func paragraphs(t *testing.T) []paragraph {
	t.Helper()
	var found []paragraph
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "decisions" || entry.Name() == "node_modules" || file != root && skipped(entry.Name())):
			return filepath.SkipDir
		case !strings.HasSuffix(file, ".md") || entry.Name() == "CHANGELOG.md" || strings.HasSuffix(file, "reference/commands.md"):
			return nil
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		found = append(found, prose(rel, string(content))...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// prose returns the paragraphs of a page with at least twelve words, list items included.
func prose(page, content string) []paragraph {
	var found []paragraph
	line, fenced := 1, false
	for _, block := range strings.Split(content, "\n\n") {
		fences := strings.Count("\n"+block, "\n```")
		text := strings.TrimSpace(block)
		if !fenced && fences == 0 && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "|") && !strings.HasPrefix(text, "![") && len(strings.Fields(text)) >= 12 {
			found = append(found, paragraph{page, line, text})
		}
		if fences%2 == 1 {
			fenced = !fenced
		}
		line += strings.Count(block, "\n") + 2
	}
	return found
}
