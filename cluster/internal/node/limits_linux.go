package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The percentages of the machine that a node and all its pods may use.
const (
	memoryShare  = 80
	processShare = 50
)

// limitGroup prevents the pods of a node from using all memory and all processes of the machine. A controller that the group
// does not have sets no limit.
func limitGroup(group string) error {
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return err
	}
	processes, err := maxProcesses()
	if err != nil {
		return err
	}
	memory := uint64(machine.Totalram) * uint64(machine.Unit) / 100 * memoryShare
	return setKnown(group, map[string]uint64{
		"memory.max":            memory, // version 2
		"memory.limit_in_bytes": memory, // version 1
		"pids.max":              processes / 100 * processShare,
	})
}

// setKnown writes the values of those files of a group that exist: each version, and each hierarchy of version 1, has others.
func setKnown(group string, values map[string]uint64) error {
	for name, value := range values {
		file := filepath.Join(group, name)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.WriteFile(file, []byte(strconv.FormatUint(value, 10)), 0); err != nil {
			return fmt.Errorf("limit the node: %w", err)
		}
	}
	return nil
}

// maxProcesses returns the maximum number of processes and threads of the machine.
func maxProcesses() (uint64, error) {
	lowest := uint64(0)
	for _, name := range []string{"pid_max", "threads-max"} {
		text, err := os.ReadFile(filepath.Join("/proc/sys/kernel", name))
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("kernel.%s: %w", name, err)
		}
		if lowest == 0 || n < lowest {
			lowest = n
		}
	}
	return lowest, nil
}
