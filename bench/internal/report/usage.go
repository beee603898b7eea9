package report

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Process is what a process uses, as Linux counts it.
type Process struct {
	// Resident is the memory that it has now, Peak the most that it had, in bytes.
	Resident, Peak int64
	// Files is what of Resident are pages of files, the program's own above all: the kernel reads them
	// again when it needs the memory, and processes of one program share them.
	Files int64
	// CPU is the time that all its threads ran, in user space and in the kernel.
	CPU time.Duration
}

// tick is the unit of times in /proc/PID/stat: Linux fixes it for user space.
const tick = time.Second / 100

// Usage reads what a running process has used so far.
func Usage(pid int) (Process, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Process{}, err
	}
	var p Process
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS":
			p.Resident, err = kilobytes(value)
		case "VmHWM":
			p.Peak, err = kilobytes(value)
		case "RssFile":
			p.Files, err = kilobytes(value)
		}
		if err != nil {
			return Process{}, err
		}
	}
	p.CPU, err = cpu(pid)
	return p, err
}

func kilobytes(value string) (int64, error) {
	number, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
	return number * 1024, err
}

// cpu reads the fields utime and stime, which are the 14th and 15th. The second is the
// program's name in parentheses and may hold spaces, so that counting starts after it.
func cpu(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, fmt.Errorf("/proc/%d/stat is short: %q", pid, text)
	}
	var ticks int64
	for _, field := range fields[utime : stime+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}
