package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
)

// crashLog is the log of the last process of the cluster that ended without being stopped. Down removes it.
func (f folder) crashLog() string { return f.path + ".crash.log" }

// fatal matches the line of a log in which a Go program, a component, etcd, or the cluster itself reports why it exits.
var fatal = regexp.MustCompile(`^(panic: |fatal error: |F\d{4} |\{"level":"(fatal|panic)"|operon-cluster: )`)

// keepCrash keeps the log of a cluster whose process ended while it served. It returns an empty string if there was none, and
// otherwise a sentence with the reason.
func (f folder) keepCrash() (string, error) {
	if _, err := os.Stat(f.facts()); errors.Is(err, fs.ErrNotExist) {
		return "", nil // the cluster never served, or it was stopped
	} else if err != nil {
		return "", err
	}
	reason := "it was killed, or its log has no reason"
	for _, line := range lines(f.log()) {
		if fatal.MatchString(line) {
			reason = line
			break
		}
	}
	crash := fmt.Sprintf("the previous process of cluster %q ended unexpectedly: %s", f.name, reason)
	err := os.Rename(f.log(), f.crashLog())
	if errors.Is(err, fs.ErrNotExist) {
		return crash, nil // a user removed the log
	}
	return crash + "; its log is " + f.crashLog(), err
}
