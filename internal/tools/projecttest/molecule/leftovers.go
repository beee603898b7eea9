package molecule

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// sweep kills the processes that the playbooks of this workspace have started and left. A process that is not a descendant of this one, because
// an earlier test was killed, or has its own process group, is known by its environment. Systems without /proc have no such processes.
func sweep(w workspace) {
	for kill(w) > 0 { // a process may start others until it is killed
	}
}

// kill kills the processes once and returns their number.
func kill(w workspace) int {
	mark := []byte("OPERON_TEST_RUN=" + w.dir)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	killed := 0
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		variables, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil || !contains(variables, mark) {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

func contains(variables, mark []byte) bool {
	for variable := range bytes.SplitSeq(variables, []byte{0}) {
		if bytes.Equal(variable, mark) {
			return true
		}
	}
	return false
}
