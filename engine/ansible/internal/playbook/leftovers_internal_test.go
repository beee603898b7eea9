package playbook

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only the directories of processes that have ended are removed.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	temp, err := os.MkdirTemp("", "left") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(temp); err != nil {
			t.Error(err)
		}
	})
	listen := func(name string) *net.UnixListener {
		dir := filepath.Join(temp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socketName)})
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
		killed.SetUnlinkOnClose(false)
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
