package generate

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/rbac"
)

// notePowers notes permissions in the whole cluster that lead to other permissions and that this run adds, because an
// additional line in a Role is easily overlooked in a review.
func (p *planning) notePowers() error {
	now, err := changes.In(p.dir)
	if err != nil {
		return err
	}
	before, err := powersIn(p.dir, now)
	if err != nil {
		return nil // the existing files cannot be read, and are replaced
	}
	after, err := powersIn(p.dir, p.result.Changes)
	if err != nil {
		return err
	}
	for _, power := range after {
		if !slices.Contains(before, power) {
			p.note(fmt.Sprintf("%s: the operator may %s in the whole cluster; make sure that it needs to", filepath.ToSlash(project.RBACFolder), power))
		}
	}
	return nil
}

// powersIn returns such permissions in the project's Roles as they will be after the changes.
func powersIn(dir string, set *changes.Set) ([]string, error) {
	objects, err := folderOf(dir, project.RBACFolder, set)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, grant := range project.GrantsOf(dir, objects) {
		role, err := grant.ReadRole()
		if err != nil {
			return nil, err
		}
		if grant.Scope == project.ClusterScope {
			all = append(all, rbac.Powers(role.Rules)...)
		}
	}
	return all, nil
}
