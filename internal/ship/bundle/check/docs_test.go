package check_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/bundle/check"
)

// The page about bundles lists each rule.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/bundles.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range check.Rules() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", one.Name, one.Severity, one.About); !strings.Contains(string(page), row) {
			t.Errorf("docs/bundles.md lacks the row\n%s", row)
		}
	}
}
