package fast_test

import (
	"os"
	"strings"
	"testing"

	"github.com/operon-framework/operon/cluster/internal/controlplane/fast"
)

// The table in docs/cluster.md lists exactly the accelerations.
func TestAccelerationsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| acceleration | gain |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	for _, a := range fast.All() {
		want = append(want, "| `"+a.Name+"` | "+a.Gain+" |")
	}
	if got := strings.Join(want, "\n"); got != table {
		t.Errorf("docs/cluster.md has\n%s\nand the package\n%s", table, got)
	}
}
