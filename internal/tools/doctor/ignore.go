package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

// These two rules are about ignore comments. They are checked after all others.
var (
	ignoreComment = &rule.Rule{
		Name: "ignore-comment", Severity: rule.Error,
		About:  "A comment operon:ignore without a reason, or for an unknown rule.",
		Reason: "Without a reason, it is unclear later whether ignoring the rule is still correct, and a misspelled rule is not ignored.",
		Fix:    "//operon:ignore RULE why this is correct here (in YAML: # operon:ignore)",
		Check:  func(*rule.Subject, *rule.Findings) {},
	}
	ignoreUnused = &rule.Rule{
		Name: "ignore-unused", Severity: rule.Advice,
		About:  "A comment operon:ignore where the rule finds nothing.",
		Reason: "It hides the next bug at this place.",
		Fix:    "delete the comment",
		Check:  func(*rule.Subject, *rule.Findings) {},
	}
)

// ignored is one ignore comment.
type ignored struct {
	rule.Place
	rule, reason string
	whole        bool // the line contains only the comment
	used         bool
}

// ignores holds the ignore comments of a project, by file and by the line that they apply to.
type ignores map[string]map[int][]*ignored

var ignoring = regexp.MustCompile(`^(.*?)(?://operon:ignore|#\s*operon:ignore)(?:[ \t]+(\S+))?(?:[ \t]+(.*\S))?\s*$`)

// readIgnores reads all ignore comments in Go code and manifests.
func readIgnores(s *rule.Subject) (ignores, error) {
	all := ignores{}
	for file := range filesOf(s) {
		content, err := os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(file)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all.read(file, string(content))
	}
	return all, nil
}

// filesOf returns the files that rules check, relative to the project.
func filesOf(s *rule.Subject) map[string]bool {
	files := map[string]bool{}
	for _, p := range s.Code.Packages {
		for _, file := range p.Syntax {
			files[s.Code.AtPos(file.Package).File] = true
		}
	}
	add := func(object project.Object) { files[filepath.ToSlash(object.File)] = true }
	for _, d := range s.Definitions {
		add(d.Object)
	}
	for _, grant := range s.Grants {
		if grant.Role.Unstructured != nil {
			add(grant.Role)
		}
	}
	for _, objects := range [][]project.Object{s.Samples, s.Others} {
		for _, object := range objects {
			add(object)
		}
	}
	return files
}

// read finds the ignore comments of a file. A comment on its own line applies to the next line that is not a comment, and to
// the adjacent comment lines, such as markers.
func (all ignores) read(file, content string) {
	mark := "#"
	if strings.HasSuffix(file, ".go") {
		mark = "//"
	}
	lines := strings.Split(content, "\n")
	for i, line := range lines {
		found := ignoring.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		before := strings.TrimSpace(found[1])
		if strings.HasPrefix(before, mark) || quoted(found[1]) {
			continue // a comment or a text that mentions ignore comments
		}
		one := &ignored{Place: rule.Place{File: file, Line: i + 1, Column: len(found[1]) + 1}, rule: found[2], reason: found[3], whole: before == ""}
		all.cover(one, i+1)
		if !one.whole {
			continue
		}
		first, last := i, i
		for first > 0 && isComment(lines[first-1], mark) {
			first--
		}
		for last+1 < len(lines) && isComment(lines[last+1], mark) {
			last++
		}
		for n := first; n <= last+1; n++ {
			all.cover(one, n+1)
		}
	}
}

// cover makes a comment apply to a line.
func (all ignores) cover(one *ignored, line int) {
	if all[one.File] == nil {
		all[one.File] = map[int][]*ignored{}
	}
	all[one.File][line] = append(all[one.File][line], one)
}

// isComment reports whether a line contains only a comment, or separates documents.
func isComment(line, mark string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, mark) || line == "---" && mark == "#"
}

// quoted reports whether a text ends inside a string.
func quoted(text string) bool {
	return strings.Count(text, `"`)%2 == 1 || strings.Count(text, "`")%2 == 1
}

// ignore reports whether a comment ignores a finding.
func (all ignores) ignore(f *Finding) bool {
	done := false
	for _, at := range append([]rule.Place{f.Place}, f.Also...) {
		for _, one := range all[at.File][at.Line] {
			if one.rule == f.Rule && one.reason != "" {
				one.used, done = true, true
			}
		}
	}
	return done
}

// findings returns the findings about the ignore comments themselves.
func (all ignores) findings(options Options) []Finding {
	known := map[string]*rule.Rule{}
	for _, r := range Rules() {
		known[r.Name] = r
	}
	wrong := &rule.Rule{Name: ignoreComment.Name, Severity: ignoreComment.Severity, Reason: ignoreComment.Reason, Fix: ignoreComment.Fix}
	wrong.Check = func(_ *rule.Subject, found *rule.Findings) {
		all.each(func(one *ignored) {
			switch {
			case known[one.rule] == nil:
				found.Add(one.Place, "unknown rule %q%s", one.rule, near(one.rule))
			case one.reason == "":
				found.Add(one.Place, "the comment does not say why %s is ignored here", one.rule)
			}
		})
	}
	unused := &rule.Rule{Name: ignoreUnused.Name, Severity: ignoreUnused.Severity, Reason: ignoreUnused.Reason, Fix: ignoreUnused.Fix}
	unused.Check = func(_ *rule.Subject, found *rule.Findings) {
		all.each(func(one *ignored) {
			r := known[one.rule]
			if r == nil || one.reason == "" || one.used || !options.asks(r) {
				return
			}
			f := found.Add(one.Place, "%s finds nothing here", one.rule)
			if one.whole {
				f.Fixable, f.Edits = true, []rule.Edit{{File: one.File, Line: one.Line}}
			}
		})
	}
	var findings []Finding
	for _, r := range []*rule.Rule{wrong, unused} {
		if options.asks(r) {
			findings = append(findings, r.Run(nil)...)
		}
	}
	return findings
}

// each visits each comment once.
func (all ignores) each(visit func(*ignored)) {
	seen := map[*ignored]bool{}
	for _, lines := range all {
		for _, comments := range lines {
			for _, one := range comments {
				if !seen[one] {
					seen[one] = true
					visit(one)
				}
			}
		}
	}
}
