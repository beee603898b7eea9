package pause_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/operon-framework/operon/cluster/node/pause"
)

// The program runs on this machine, ignores SIGCHLD, and waits.
func TestProgramWaits(t *testing.T) {
	t.Parallel()
	program, err := pause.Program(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pause")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer command.Wait()
	defer command.Process.Kill()
	// SIGCHLD is signal 17, and so bit 16 of the mask of ignored signals.
	for ignored := ""; !strings.HasSuffix(ignored, "10000"); {
		if err := command.Process.Signal(syscall.SIGCHLD); err != nil {
			t.Fatalf("the program ended: %v", err)
		}
		status, err := os.ReadFile("/proc/" + strconv.Itoa(command.Process.Pid) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(status), "State:\tZ") {
			t.Fatalf("the program ended:\n%s", status)
		}
		_, ignored, _ = strings.Cut(string(status), "SigIgn:\t")
		ignored, _, _ = strings.Cut(ignored, "\n")
	}
}
