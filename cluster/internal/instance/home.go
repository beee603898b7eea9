package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// DefaultName is the name of the cluster if none is given.
const DefaultName = "default"

// Names are used for directories and kubeconfig contexts, so they must be DNS labels.
var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// homeDir returns the directory of all files of Operon: $OPERON_HOME, or .operon in the user's home directory.
func homeDir() (string, error) {
	if home := os.Getenv("OPERON_HOME"); home != "" {
		return filepath.Abs(home)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home directory: %w; set OPERON_HOME", err)
	}
	return filepath.Join(home, ".operon"), nil
}

// folder is the directory of one cluster.
type folder struct {
	name, path string
}

func openFolder(name string) (folder, error) {
	if !validName.MatchString(name) {
		return folder{}, fmt.Errorf("cluster name %q: want at most 40 lower-case letters, digits and dashes, starting and ending with a letter or digit", name)
	}
	home, err := homeDir()
	if err != nil {
		return folder{}, err
	}
	return folder{name: name, path: filepath.Join(home, "clusters", name)}, nil
}

func (f folder) file(name string) string { return filepath.Join(f.path, name) }
func (f folder) facts() string           { return f.file("cluster.json") }
func (f folder) spec() string            { return f.file("spec.json") }
func (f folder) log() string             { return f.file("cluster.log") }
func (f folder) kubeconfig() string      { return f.file("kubeconfig") }
func (f folder) control() string         { return f.file("control.sock") }
func (f folder) egress() string          { return f.file("egress.sock") }
func (f folder) node() string            { return f.file("node") }

// checkSockets checks whether the directory can contain unix sockets, for which the system only allows short paths.
func (f folder) checkSockets(kind NodeKind) error {
	longest := f.control()
	if kind == Container {
		longest = settings.Dir(f.node()).LongestSocket()
	}
	const most = len(unix.RawSockaddrUnix{}.Path) - 1 // the path is terminated by a zero byte
	if over := len(longest) - most; over > 0 {
		return fmt.Errorf("the directory %s is %d bytes too long: socket paths in it may have at most %d; set OPERON_HOME to a shorter path, or choose a shorter --cluster", f.path, over, most)
	}
	return nil
}

// Locks are beside the directory, so the directory can be removed while they are held.
func (f folder) runLock() string   { return f.path + ".lock" }
func (f folder) startLock() string { return f.path + ".start.lock" }

func (f folder) exists() (bool, error) {
	_, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// names lists the clusters that have a directory.
func names() ([]string, error) {
	home, err := homeDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(home, "clusters"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() && validName.MatchString(entry.Name()) {
			found = append(found, entry.Name())
		}
	}
	return found, nil
}
