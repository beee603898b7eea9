package preview

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/olm"
)

// Texts of bundles and of objects in the cluster cannot control the terminal.
func TestTextHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[31m\x1b[2J\x1b]0;title\x07bad\rgood\u009b2J"
	all := []string{hostile}
	rights := []olm.Right{{PolicyRule: rbacv1.PolicyRule{Verbs: all, APIGroups: all, Resources: all}, Role: hostile, Escalates: hostile}}
	p := &Preview{
		Namespace: hostile, Plan: hostile, Phase: hostile, CSVs: all, Replaces: hostile, Problems: all, Converted: hostile,
		Objects:     []Object{{Action: Alter, Kind: hostile, Namespace: hostile, Name: hostile, Changes: []Change{{Path: hostile, From: hostile, To: hostile}}}},
		Definitions: []*crdcompat.Result{{Name: hostile}}, NewPermissions: rights, GonePermissions: rights, NewImages: all, GoneImages: all, Unknown: all,
	}
	var out bytes.Buffer
	steers := func(r rune) bool { return r != '\n' && unicode.IsControl(r) }
	if err := p.Text(&out); err != nil || strings.ContainsFunc(out.String(), steers) || !strings.Contains(out.String(), "�]0;title�bad�good�2J") {
		t.Errorf("%v, %q", err, out.String())
	}
}
