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
	"time"

	"github.com/operon-framework/operon/cluster/internal/node/pause"
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
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
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
		if ignores(t, string(status), syscall.SIGCHLD) {
			return
		}
	}
	t.Fatal("the program does not ignore SIGCHLD")
}

// ignores reports whether the process ignores a signal: bit n-1 of the mask is signal n. The process may ignore other signals,
// too, such as SIGHUP if nohup started it.
func ignores(t *testing.T, status string, signal syscall.Signal) bool {
	t.Helper()
	_, mask, _ := strings.Cut(status, "SigIgn:\t")
	mask, _, _ = strings.Cut(mask, "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return bits&(1<<(signal-1)) != 0
}
