package debian

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// unneeded lists packages that others need only for their scripts.
var unneeded = []string{"adduser", "debconf", "dpkg", "init-system-helpers", "lsb-base", "sysvinit-utils", "usrmerge", "usr-is-merged", "ucf"}

// apt is the machine's apt, configured as if no packages were installed.
type apt struct {
	folder       string
	architecture string
}

// newApt creates its directories below folder.
func newApt(ctx context.Context, folder string, without []string) (*apt, error) {
	for _, command := range []string{"apt-get", "dpkg-deb", "dpkg"} {
		if _, err := exec.LookPath(command); err != nil {
			return nil, fmt.Errorf("%s is not on the PATH: images of Debian packages can be built only on Debian and its derivatives; `operon image from-dir` builds one from any directory", command)
		}
	}
	if err := os.MkdirAll(filepath.Join(folder, none, "partial"), 0o700); err != nil {
		return nil, err
	}
	output, err := run(ctx, "dpkg", "--print-architecture")
	if err != nil {
		return nil, err
	}
	a := &apt{folder: folder, architecture: strings.TrimSpace(output)}
	return a, os.WriteFile(a.status(), installed(a.architecture, slices.Concat(unneeded, without)), 0o600)
}

func (a *apt) status() string { return filepath.Join(a.folder, "status") }

// installed returns the content of dpkg's status file for packages that count as installed.
func installed(architecture string, packages []string) []byte {
	var all bytes.Buffer
	for _, name := range packages {
		fmt.Fprintf(&all, "Package: %s\nStatus: install ok installed\nArchitecture: %s\nMulti-Arch: allowed\nVersion: 9999\nMaintainer: none\nDescription: not needed\n", name, architecture)
		if name == "debconf" {
			fmt.Fprintln(&all, "Provides: debconf-2.0, cdebconf")
		}
		fmt.Fprintln(&all)
	}
	return all.Bytes()
}

// install calls apt-get install with additional arguments.
func (a *apt) install(ctx context.Context, archives string, arguments ...string) (string, error) {
	return run(ctx, "apt-get", append([]string{
		"install", "-q", "-y", "--no-install-recommends",
		"-o", "Dir::State::status=" + a.status(),
		"-o", "Dir::State::extended_states=" + filepath.Join(a.folder, "extended_states"),
		"-o", "Dir::Cache::archives=" + archives,
		"-o", "Debug::NoLocking=1",
		"-o", "APT::Sandbox::User=root",
		"-o", "Acquire::Retries=1",
		"-o", "Acquire::ForceHash=SHA256",
	}, arguments...)...)
}

// none is a directory without archives: apt-get does not list archives that already exist.
const none = "none"

// archive is the file of a package.
type archive struct {
	name string
	// sum is the hexadecimal SHA-256 of the content, from the package source.
	sum string
}

// verify returns an error if the content in a directory differs from the content that the package source lists. In this case,
// it deletes the file, because apt-get uses an existing file of the right size without checking its content.
func (a archive) verify(directory string) error {
	path := filepath.Join(directory, a.name)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != a.sum {
		err := fmt.Errorf("%s has the SHA-256 %s, but the package source lists %s: it was deleted, run the command again", path, found, a.sum)
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// resolve returns the archives of packages and of their dependencies.
func (a *apt) resolve(ctx context.Context, packages []string) ([]archive, error) {
	output, err := a.install(ctx, filepath.Join(a.folder, none), append([]string{"--print-uris", "--reinstall", "--"}, packages...)...)
	if err != nil {
		return nil, explain(err)
	}
	found, err := archivesIn(output)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("apt-get finds nothing to download for %s", strings.Join(packages, ", "))
	}
	return found, err
}

// archivesIn parses the lines in which apt-get prints the URIs of archives: 'URI' NAME SIZE SHA256:SUM. Archives are sorted by name.
func archivesIn(output string) ([]archive, error) {
	var found []archive
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "'") {
			continue
		}
		_, rest, closed := strings.Cut(line[1:], "' ")
		fields := strings.Fields(rest)
		if !closed || len(fields) < 2 {
			return nil, fmt.Errorf("apt-get printed an unexpected line: %s", strings.TrimSpace(line))
		}
		name := fields[0]
		if name != filepath.Base(name) || !strings.HasSuffix(name, ".deb") {
			return nil, fmt.Errorf("apt-get names an archive %q, which is not a file name of a package", name)
		}
		sum := strings.TrimPrefix(fields[len(fields)-1], "SHA256:")
		if _, err := hex.DecodeString(sum); err != nil || len(sum) != hex.EncodedLen(sha256.Size) {
			return nil, fmt.Errorf("the package source lists no SHA-256 for %s: run `apt-get update`, or remove the source", name)
		}
		found = append(found, archive{name, sum})
	}
	slices.SortFunc(found, func(a, b archive) int { return cmp.Compare(a.name, b.name) })
	return slices.Compact(found), nil
}

var (
	unknown     = regexp.MustCompile(`(?m)^E: (?:Unable to locate package|Couldn't find any package by \S+) '?([^\s']+)`)
	unavailable = regexp.MustCompile(`(?m)^E: Package '([^']+)' has no installation candidate`)
	unmet       = regexp.MustCompile(`(?ms)^The following packages have unmet dependencies:\n(.*?)^E: `)
	unfetched   = regexp.MustCompile(`(?m)^E: Failed to fetch (\S+)\s+(.*)$`)
)

// explain converts an error of apt-get to one that describes what to do.
func explain(err error) error {
	var failed *failure
	if !errors.As(err, &failed) {
		return err
	}
	said := failed.output
	if found := unfetched.FindStringSubmatch(said); found != nil {
		return fmt.Errorf("download packages: %s: %s; without a network, only packages that were downloaded before can be used", found[1], strings.TrimSpace(found[2]))
	}
	for _, pattern := range []*regexp.Regexp{unknown, unavailable} {
		if found := pattern.FindStringSubmatch(said); found != nil {
			return fmt.Errorf("the package sources of this machine have no package %s: check its name, or run `apt-get update` if it is new", found[1])
		}
	}
	if found := unmet.FindStringSubmatch(said); found != nil {
		return fmt.Errorf("the packages conflict:\n%s", strings.TrimRight(found[1], "\n"))
	}
	return err
}

// failure is the error of a command.
type failure struct {
	command string
	output  string
	err     error
}

func (f *failure) Error() string {
	lines := strings.Split(strings.TrimSpace(f.output), "\n")
	return fmt.Sprintf("%s: %v: %s", f.command, f.err, strings.Join(lines[max(0, len(lines)-5):], "\n"))
}

func (f *failure) Unwrap() error { return f.err }

// run runs a command in its own process group, which ends with ctx, and returns its output.
func run(ctx context.Context, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	if err != nil {
		return "", &failure{command: name, output: stdout.String() + stderr.String(), err: err}
	}
	return stdout.String(), nil
}
