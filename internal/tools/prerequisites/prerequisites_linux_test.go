package prerequisites_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/prerequisites"
)

// A container node works with iptables if there is no nft.
func TestContainersWithIptables(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, one := range []struct{ program, want string }{{"runc", "install nftables"}, {"iptables", ""}} {
		if err := os.WriteFile(filepath.Join(dir, one.program), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		all := prerequisites.All(t.Context(), t.TempDir(), true)
		at := slices.IndexFunc(all, func(c prerequisites.Check) bool { return c.Name == "Container nodes" })
		if got := strings.TrimPrefix(all[at].Fix, "run as root; "); !strings.Contains(all[at].Found, one.program) || strings.TrimPrefix(got, "run as root") != one.want {
			t.Errorf("with %s: %+v", one.program, all[at])
		}
	}
}
