package mount_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Every package that this one imports is initialized before each start of a process with mounts.
func TestImportsAlmostNothing(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(out))
	if want := []string{"golang.org/x/sys/unix", "github.com/operon-framework/operon/internal/tools/up/mount"}; !slices.Equal(got, want) {
		t.Errorf("it imports %v, not only %v", got, want)
	}
	out, err = exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Fields(string(out)); slices.Contains(all, "net") || slices.Contains(all, "regexp") {
		t.Errorf("it imports large packages of the standard library: %v", all)
	}
}
