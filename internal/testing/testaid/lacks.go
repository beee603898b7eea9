package testaid

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// NoSkips is the environment variable that turns skipped tests into failures. Set it on machines on which everything that the
// tests need is installed, as the gate does.
const NoSkips = "OPERON_NO_SKIPS"

// Lacks skips a test because of a missing feature of the machine. It fails the test if [NoSkips] is set.
func Lacks(t testing.TB, format string, args ...any) {
	t.Helper()
	why := fmt.Sprintf(format, args...)
	if os.Getenv(NoSkips) != "" {
		t.Fatalf("%s; with %s, no test may be skipped for what the machine lacks", why, NoSkips)
	}
	t.Skip(why)
}

// NeedsAnsible is Lacks for tests that run Ansible roles.
func NeedsAnsible(t testing.TB) {
	t.Helper()
	if said := missingForAnsible(); said != "" {
		Lacks(t, "the role needs Debian's packages ansible and python3-kubernetes: %s", said)
	}
}

// missingForAnsible returns why roles cannot be run, or "". It asks once for all tests of a package, as Python takes a second of processor time to import both.
var missingForAnsible = sync.OnceValue(func() string {
	said, err := exec.Command("/usr/bin/python3", "-c", "import ansible_collections.kubernetes.core, kubernetes").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s (%v)", said, err)
	}
	return ""
})
