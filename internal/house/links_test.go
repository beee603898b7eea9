package house

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxDecisions is the maximum number of design pages that are kept up to date. More would not be read.
const maxDecisions = 22

var (
	linkTo   = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	fenced   = regexp.MustCompile("(?s)```.*?```")
	testName = regexp.MustCompile("`?\\b(Test|Fuzz)[A-Z][A-Za-z]+\\b`?")
)

// pages returns the text of the repository's Markdown files by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && (skipped(entry.Name()) || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".md"):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		found[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 40 {
		t.Fatalf("found only %d pages", len(found))
	}
	return found
}

// TestLinksLeadSomewhere checks that relative links in pages refer to existing files.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for name, text := range pages(t) {
		text = fenced.ReplaceAllString(text, "")
		for _, link := range linkTo.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") || strings.HasPrefix(link[1], "mailto:") {
				continue
			}
			target := filepath.Join(root, filepath.Dir(name), link[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, link[1])
			}
		}
	}
}

// TestIndexListsAllPages checks that the index, which is also the navigation of the site, links to all pages of the
// documentation.
func TestIndexListsAllPages(t *testing.T) {
	t.Parallel()
	all := pages(t)
	linked := map[string]bool{"docs/README.md": true}
	for _, link := range linkTo.FindAllStringSubmatch(all["docs/README.md"], -1) {
		linked[path.Join("docs", link[1])] = true
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/decisions/") && !linked[name] {
			t.Errorf("docs/README.md does not link to %s", name)
		}
	}
}

// TestUserPagesNameNoTests checks that pages for users state guarantees and not the tests that verify them.
func TestUserPagesNameNoTests(t *testing.T) {
	t.Parallel()
	for name, text := range pages(t) {
		user := name == "README.md" || strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/decisions/")
		if !user {
			continue
		}
		inCode := false
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inCode = !inCode
			}
			if found := testName.FindString(line); found != "" && !inCode {
				t.Errorf("%s:%d: names %s: say what holds, users do not run our tests", name, i+1, found)
			}
		}
	}
}

// TestDecisionsAreFound checks that there are few design pages, and that the index lists them.
func TestDecisionsAreFound(t *testing.T) {
	t.Parallel()
	const dir = "docs/decisions/"
	all := pages(t)
	index, living := all[dir+"README.md"], 0
	for name := range all {
		page, ok := strings.CutPrefix(name, dir)
		if !ok || page == "README.md" {
			continue
		}
		if !strings.Contains(page, "/") {
			living++
		}
		if !strings.Contains(index, "("+page+")") {
			t.Errorf("%sREADME.md does not link to %s", dir, page)
		}
	}
	if living == 0 || living > maxDecisions {
		t.Errorf("%d design pages are kept current, want 1 to %d: sum some up in one", living, maxDecisions)
	}
}
