//go:build linux

package node

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// A node that failed during its start is stopped like others: its process ends with the pipe, Stop does not wait for a process
// that was never started, and all files are closed.
func TestStopAfterHalfAStart(t *testing.T) {
	t.Parallel()
	if err := (&Node{dir: settings.Dir(t.TempDir() + "/node"), ended: make(chan struct{}), grace: time.Minute}).Stop(); err != nil {
		t.Errorf("without pipes: %v", err)
	}
	for name, started := range map[string]bool{"no process": false, "a process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &Node{dir: settings.Dir(t.TempDir() + "/node"), ended: make(chan struct{})}
			inherited, err := n.connect()
			if err != nil {
				t.Fatal(err)
			}
			if started {
				n.process = exec.Command("cat") // which ends when its input ends
				n.process.Stdin = inherited[0]
				if err := n.process.Start(); err != nil {
					t.Fatal(err)
				}
				go func() {
					n.cause = n.process.Wait()
					close(n.ended)
				}()
			}
			closeAll(inherited...)
			if err := n.Stop(); err != nil {
				t.Error(err)
			}
			for _, file := range []*os.File{n.life, n.orders, n.reports} {
				if err := file.Close(); !errors.Is(err, os.ErrClosed) {
					t.Errorf("a pipe was open: %v", err)
				}
			}
		})
	}
}
