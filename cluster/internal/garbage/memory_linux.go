package garbage

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memory returns how many bytes of memory this process may use: the size of the machine's memory, or the limit of a control group (version 2)
// that the process belongs to if that is less. It returns 0 if this is unknown.
func memory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	all := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits on some architectures
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return all
	}
	for line := range strings.Lines(string(groups)) {
		if group, ok := strings.CutPrefix(line, "0::"); ok {
			return min(all, groupLimit("/sys/fs/cgroup", strings.TrimSpace(group), all))
		}
	}
	return all
}

// groupLimit returns the lowest limit of a control group and its parents, or all if there is none.
func groupLimit(root, group string, all uint64) uint64 {
	for ; ; group = filepath.Dir(group) {
		if text, err := os.ReadFile(filepath.Join(root, group, "memory.max")); err == nil {
			if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // otherwise it is "max"
				all = min(all, limit)
			}
		}
		if group == "/" || group == "." {
			return all
		}
	}
}
