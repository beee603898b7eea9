package prerequisites_test

import (
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/prerequisites"
)

// Without Go, Operon works only if the local cluster does not have to be compiled.
func TestWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for compiled, want := range map[bool]prerequisites.Status{false: prerequisites.Missing, true: prerequisites.Limited} {
		check := prerequisites.All(t.Context(), t.TempDir(), compiled)[0]
		if check.Name != "Go toolchain" || check.Status != want || !strings.Contains(check.Fix, "install Go") {
			t.Errorf("compiled %t: %+v", compiled, check)
		}
	}
}
