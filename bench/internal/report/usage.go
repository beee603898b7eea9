package report

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Process is the resource usage of a process, as counted by Linux.
type Process struct {
	// Resident is the current memory, Peak is the maximum so far, in bytes.
	Resident, Peak int64
	// Files is the part of Resident that consists of pages of files, mostly of the program itself: the kernel can drop them and
	// read them again, and processes of one program share them.
	Files int64
	// CPU is the time for which all threads ran, in user space and in the kernel.
	CPU time.Duration
}

// tick is the unit of times in /proc/PID/stat, which is fixed for user space on Linux.
const tick = time.Second / 100

// Usage returns the resource usage of a running process so far.
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

// cpu reads the fields utime and stime, which are the 14th and 15th. The second field is the program's name in parentheses and
// may contain spaces, so the fields are counted after it.
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
