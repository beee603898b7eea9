package olm_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/operon-framework/operon/internal/tools/olm"
)

// Texts of bundles and of objects in the cluster cannot control the terminal.
func TestTextHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[31m\x1b[2J\x1b]0;title\x07bad\rgood\u009b2J"
	all := []string{hostile}
	bill := &olm.Bill{
		Operators: []olm.Operator{{
			Namespace: hostile, CSV: hostile, Package: hostile, Channel: hostile, Catalog: hostile, Subscription: hostile, Approval: hostile,
			Phase: hostile, Reason: hostile, Message: hostile, Upgrade: &olm.Upgrade{CSV: hostile, Plan: hostile, Phase: hostile}, Problems: all, Namespaces: all,
			Provides: all, Permissions: []olm.Right{{PolicyRule: rule(all, all, all), Role: hostile, Escalates: hostile}}, Images: all, Deprecations: all,
		}},
		Catalogs: []olm.CatalogState{{Kind: hostile, Namespace: hostile, Name: hostile, State: hostile, Message: hostile, Broken: all}},
		Groups:   []olm.GroupState{{Namespace: hostile, Name: hostile, Namespaces: all, Problems: all}},
		Unknown:  all,
	}
	answer := &olm.Answer{
		Kind: hostile, Namespace: hostile, Name: hostile, Why: hostile, Decides: &olm.Field{Kind: hostile, Namespace: hostile, Name: hostile, Field: hostile}, Do: all,
		Chain: []olm.Link{{Kind: hostile, Name: hostile, State: hostile}}, Unknown: all,
	}
	for command, text := range map[string]func(io.Writer) error{"status": bill.Text, "explain": answer.Text} {
		var out bytes.Buffer
		steers := func(r rune) bool { return r != '\n' && unicode.IsControl(r) }
		if err := text(&out); err != nil || strings.ContainsFunc(out.String(), steers) || !strings.Contains(out.String(), "�]0;title�bad�good�2J") {
			t.Errorf("%s: %v, %q", command, err, out.String())
		}
	}
}
