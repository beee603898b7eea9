package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stat contains fields of /proc/PID/stat.
type stat struct {
	parent int
	// cpu is the time of the process and of its children that have ended.
	cpu time.Duration
}

// readStat returns nil if the process has ended.
func readStat(pid int) (*stat, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil, nil // it has ended
	}
	if err != nil {
		return nil, err
	}
	text := string(content)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	const ppid, utime, cstime = 1, 11, 14
	if len(fields) <= cstime {
		return nil, fmt.Errorf("/proc/%d/stat is short: %q", pid, text)
	}
	s := &stat{}
	if s.parent, err = strconv.Atoi(fields[ppid]); err != nil {
		return nil, err
	}
	for _, field := range fields[utime : cstime+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, err
		}
		s.cpu += time.Duration(n) * timing.tick
	}
	return s, nil
}

// tree returns the running processes that descend from a process, including itself.
func tree(root int) (map[int]*stat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := map[int]*stat{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		s, err := readStat(pid)
		if err != nil {
			return nil, err
		}
		if s != nil {
			all[pid] = s
		}
	}
	below := map[int]*stat{}
	for pid := range all {
		for at := pid; all[at] != nil; at = all[at].parent {
			if at == root {
				below[pid] = all[pid]
				break
			}
		}
	}
	return below, nil
}

// treeCPU returns the processor time of a process and of all its descendants, also of those that have ended and were waited for.
func treeCPU(root int) (time.Duration, error) {
	processes, err := tree(root)
	var sum time.Duration
	for _, s := range processes {
		sum += s.cpu
	}
	return sum, err
}

// treeMemory returns the proportional memory of a process and of its descendants.
func treeMemory(root int) (int64, error) {
	processes, err := tree(root)
	if err != nil {
		return 0, err
	}
	var sum int64
	for pid := range processes {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(content)) {
			value, ok := strings.CutPrefix(line, "Pss:")
			if !ok {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err != nil {
				return 0, err
			}
			sum += n << 10
		}
	}
	return sum, nil
}

// auditPolicy logs the requests of users with a certificate: the operators and this program.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
  - level: None
    users: ["system:kube-controller-manager", "system:kube-scheduler", "system:simulated-nodes", "system:apiserver"]
  - level: None
    userGroups: ["system:serviceaccounts"]
  - level: Metadata
`

// requestsSince counts the requests of the operator, except watches and requests for leases.
func requestsSince(log string, began time.Time) (int64, error) {
	file, err := os.Open(log)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // no request was logged yet
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var count int64
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			Verb, UserAgent          string
			RequestReceivedTimestamp time.Time
			ObjectRef                struct{ Resource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return 0, fmt.Errorf("%s: %w", log, err)
		}
		own := strings.HasPrefix(r.UserAgent, "engines/") // this program
		if !own && r.Verb != "watch" && r.ObjectRef.Resource != "leases" && !r.RequestReceivedTimestamp.Before(began) {
			count++
		}
	}
	return count, lines.Err()
}
