package playbook

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// shortDirectory returns a temporary directory with a path that is short enough for a socket.
func shortDirectory(t *testing.T) string {
	t.Helper()
	temp, err := os.MkdirTemp("", "left")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(temp); err != nil {
			t.Error(err)
		}
	})
	return temp
}

// Only the directories of processes that have ended are removed.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	temp := shortDirectory(t)
	listen := func(name string) *net.UnixListener {
		dir := filepath.Join(temp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		listener, err := listenIn(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		return listener
	}
	listen(prefix + "alive")
	listen("other")
	for _, name := range []string{prefix + "killed", "other-killed"} {
		killed := listen(name)
		if err := killed.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(temp, prefix+"starting"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := removeLeftovers(temp); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range left {
		names = append(names, one.Name())
	}
	if got, want := strings.Join(names, " "), "operon-ansible-alive operon-ansible-starting other other-killed"; got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
}

// An operator that starts is never taken for one that was killed.
func TestStartingIsNoLeftover(t *testing.T) {
	t.Parallel()
	temp := shortDirectory(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for number := range 2000 {
			dir := filepath.Join(temp, prefix+strconv.Itoa(number%8))
			if err := errors.Join(os.Mkdir(dir, 0o700), listenAndClose(dir)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
			if err := removeLeftovers(temp); err != nil {
				t.Error(err)
			}
		}
	}
}

// listenAndClose listens in dir, and removes dir, which has to be there still.
func listenAndClose(dir string) error {
	listener, err := listenIn(dir)
	if err != nil {
		return err
	}
	gone := filepath.Join(filepath.Dir(dir), "gone")
	return errors.Join(os.Rename(dir, gone), listener.Close(), os.RemoveAll(gone))
}
