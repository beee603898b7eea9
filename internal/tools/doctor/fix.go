package doctor

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Fix fixes all findings that can be fixed without a change of meaning, or none of them if one fails. It removes the fixed
// findings from the report and returns them.
func (r *Report) Fix(ctx context.Context) ([]Finding, error) {
	edits := map[string][]rule.Edit{}
	var fixed, rest []Finding
	for _, f := range r.Findings {
		if !f.Fixable {
			rest = append(rest, f)
			continue
		}
		fixed = append(fixed, f)
		for _, edit := range f.Edits {
			edits[edit.File] = append(edits[edit.File], edit)
		}
	}
	if len(fixed) == 0 {
		return nil, nil
	}
	set, err := changes.In(r.dir)
	if err != nil {
		return nil, err
	}
	for file, all := range edits {
		content, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		set.Write(file, []byte(edited(string(content), all)))
	}
	if _, err := set.Apply(ctx); err != nil {
		return nil, err
	}
	r.Findings = slices.Clip(append([]Finding{}, rest...))
	return fixed, nil
}

// edited applies edits from the last line to the first, so that line numbers stay correct.
func edited(content string, edits []rule.Edit) string {
	slices.SortFunc(edits, func(a, b rule.Edit) int { return cmp.Compare(b.Line, a.Line) })
	edits = slices.Compact(edits)
	lines := strings.SplitAfter(content, "\n")
	for _, edit := range edits {
		at := edit.Line - 1
		if at < 0 || at >= len(lines) {
			continue
		}
		if edit.Insert == "" {
			lines = slices.Delete(lines, at, at+1)
			continue
		}
		lines = slices.Insert(lines, at, edit.Insert+"\n")
	}
	return strings.Join(lines, "")
}
