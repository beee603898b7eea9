package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestAChildEndsWithItsParent kills the parent without giving it a chance to react.
func TestAChildEndsWithItsParent(t *testing.T) {
	t.Parallel()
	t.Run("as it is", func(t *testing.T) {
		t.Parallel()
		endsWithItsParent(t)
	})
	t.Run("with mounts", func(t *testing.T) {
		t.Parallel()
		target := filepath.Join(t.TempDir(), "one")
		mountable(t, target)
		endsWithItsParent(t, mountSource+"="+t.TempDir(), mountTarget+"="+target)
	})
}

func endsWithItsParent(t *testing.T, env ...string) {
	t.Helper()
	parent := exec.Command(os.Args[0])
	parent.Env = append(env, role+"=parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	waitGone(t, pid)
}
