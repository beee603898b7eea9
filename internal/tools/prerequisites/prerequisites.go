// Package prerequisites checks whether this machine has what Operon needs: the Go toolchain, disk space and inotify instances
// for the local cluster, and the additional requirements of nodes with containers.
//
// A [Check] reports what was found and, if that is not enough, what to do. [All] runs all checks; none of them changes
// anything. Except for the location of Operon's files, this package does not depend on Operon's other packages.
package prerequisites

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Status is the result of a check.
type Status string

// The statuses. Operon cannot work only if something is Missing; a Limited machine lacks something that some features need.
const (
	OK      Status = "ok"
	Limited Status = "limited"
	Missing Status = "missing"
)

// Check is one checked requirement.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found is what the machine has.
	Found string `json:"found"`
	// Fix describes what to do, and For names the feature that needs it. Both are empty if the status is OK.
	Fix string `json:"fix,omitempty"`
	For string `json:"for,omitempty"`
}

const (
	gib = 1 << 30
	// minDisk is the size of the build cache of both binaries and a cluster, measured on a clean machine.
	minDisk = 6 * gib
	// minInstances: a cluster uses five inotify instances; the kernel's default limit is 128 per user.
	minInstances = 64
)

// All runs all checks of this machine. The argument home is the directory of Operon's files. If compiled is true, the program of the local cluster
// exists, so that only operators in Go are compiled.
func All(ctx context.Context, home string, compiled bool) []Check {
	return []Check{goToolchain(ctx, compiled), disk(home, compiled), inotify("/proc/sys/fs/inotify/max_user_instances"), containers()}
}

// goToolchain checks the Go toolchain, because projects in Go and, unless it exists, the local cluster are compiled on this machine.
func goToolchain(ctx context.Context, compiled bool) Check {
	c := Check{Name: "Go toolchain"}
	output, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil && compiled {
		c.Status, c.Found = Limited, "not found in $PATH"
		c.Fix, c.For = "install Go from your package manager or as its documentation says, and add it to $PATH", "every command that builds an operator in Go"
		return c
	}
	if err != nil {
		c.Status, c.Found = Missing, "not found in $PATH"
		c.Fix, c.For = "install Go from your package manager or as its documentation says, and add it to $PATH", "every command that builds an operator or the local cluster"
		return c
	}
	c.Status, c.Found = OK, strings.TrimSpace(string(output))
	if older(c.Found, runtime.Version()) {
		c.Status, c.Fix, c.For = Limited, "upgrade Go to "+runtime.Version()+" or later", "projects whose go.mod asks for this version"
	}
	return c
}

// older reports whether a Go version is older than another one, comparing the first two numbers.
func older(version, than string) bool {
	number := func(v string) int {
		parts := strings.SplitN(strings.TrimPrefix(v, "go"), ".", 3)
		if len(parts) < 2 {
			return 0
		}
		major, _ := strconv.Atoi(parts[0])
		minor, _ := strconv.Atoi(strings.FieldsFunc(parts[1]+"-", func(r rune) bool { return r < '0' || r > '9' })[0])
		return major*1000 + minor
	}
	return number(version) < number(than)
}

// disk checks the free space of the home directory, or of the nearest existing directory above it.
func disk(home string, compiled bool) Check {
	c := Check{Name: "Disk space"}
	dir := home
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		c.Status, c.Found, c.Fix, c.For = Limited, err.Error(), "set $OPERON_HOME to a directory that you can write to", "the local cluster"
		return c
	}
	free := stat.Bavail * uint64(stat.Bsize)
	c.Status, c.Found = OK, fmt.Sprintf("%.1f GiB free in %s", float64(free)/gib, dir)
	needed, purpose := uint64(minDisk), "building the local cluster and its data"
	if compiled {
		needed, purpose = gib, "the data of local clusters"
	}
	if free < needed {
		c.Status, c.Fix, c.For = Limited, fmt.Sprintf("free at least %d GiB, or set $OPERON_HOME to another disk", needed/gib), purpose
	}
	return c
}

// inotify checks the number of inotify instances that a user may have, which is in the kernel's file. Other systems have no
// such limit.
func inotify(file string) Check {
	c := Check{Name: "inotify instances", Status: OK, Found: "no limit on this system"}
	content, err := os.ReadFile(file)
	if err != nil {
		return c
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		c.Status, c.Found, c.Fix, c.For = Limited, fmt.Sprintf("%s has %q", file, content), "check the limit by hand", "several local clusters"
		return c
	}
	c.Found = fmt.Sprintf("%d for each user", limit)
	if limit < minInstances {
		c.Status, c.Fix, c.For = Limited, "sysctl fs.inotify.max_user_instances=512", "several local clusters at the same time"
	}
	return c
}

// firstOf returns the path of the first of some programs that exists, or the empty string.
func firstOf(programs []string) string {
	for _, program := range programs {
		if path, err := exec.LookPath(program); err == nil {
			return path
		}
	}
	return ""
}

// containers checks the requirements of `operon cluster up --node container`.
func containers() Check {
	c := Check{Name: "Container nodes", For: "`operon cluster up --node container`, and `operon deploy` to the local cluster"}
	var found, fixes []string
	if runtime.GOOS != "linux" {
		c.Status, c.Found, c.Fix = Limited, runtime.GOOS, "use a Linux machine or virtual machine"
		return c
	}
	if os.Geteuid() != 0 {
		fixes = append(fixes, "run as root")
	}
	// iptables suffices where nft is missing, but not for all features.
	for _, wanted := range []struct {
		source   string
		programs []string
	}{{"runc", []string{"runc"}}, {"nftables", []string{"nft", "iptables"}}} {
		path := firstOf(wanted.programs)
		if path == "" {
			fixes = append(fixes, "install "+wanted.source)
			continue
		}
		found = append(found, path)
	}
	c.Status, c.Found = OK, strings.Join(found, ", ")
	if len(fixes) == 0 {
		c.For = ""
		return c
	}
	c.Status, c.Fix = Limited, strings.Join(fixes, "; ")
	if c.Found == "" {
		c.Found = "neither runc nor nft"
	}
	return c
}
