//go:build linux

package node

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Nodes take turns, but no node waits forever for one that hangs.
func TestNodesTakeTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := opened(t, dir), opened(t, dir)
	if err := awaitTurn(first, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := awaitTurn(second, 3*timing.turnPeriod); err != nil {
		t.Error(err)
	}
	if err := unix.Flock(int(second.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("two have their turn: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- awaitTurn(second, time.Minute) }()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if err := unix.Flock(int(opened(t, dir).Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("who waited has no turn: %v", err)
	}
}

func opened(t *testing.T, dir string) *os.File {
	t.Helper()
	file, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}
