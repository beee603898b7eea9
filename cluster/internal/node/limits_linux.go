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

// The shares of the machine that a node and all of its pods may use, in percent.
const (
	memoryShare  = 80
	processShare = 50
)

// limitGroup keeps the pods of a node from taking all memory and all processes of the machine. Controllers that the
// group does not have limit nothing.
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
	for name, limit := range map[string]uint64{
		"memory.max":            memory, // version 2
		"memory.limit_in_bytes": memory, // version 1
		"pids.max":              processes / 100 * processShare,
	} {
		file := filepath.Join(group, name)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.WriteFile(file, []byte(strconv.FormatUint(limit, 10)), 0); err != nil {
			return fmt.Errorf("limit the node: %w", err)
		}
	}
	return nil
}

// maxProcesses returns how many processes and threads the machine can have.
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
