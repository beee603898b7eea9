package up

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/operon-framework/operon/local"
)

// folder is the directory with the state of one project, $OPERON_HOME/up/<hash of its path>. The credentials in it are
// deleted when Run ends. The data for Down remains until Down is run: the operator that was built last, and the cluster in
// which it ran.
type folder struct {
	// project is the directory of the project, and path that of its state.
	project, path string
	lock          *local.Lock
}

// folderOf returns the path of the state of a project. The suffix distinguishes the use that Run is made of.
func folderOf(projectDir, use string) (string, error) {
	parent, err := local.Folder("up")
	sum := sha256.Sum256([]byte(projectDir))
	return filepath.Join(parent, hex.EncodeToString(sum[:])[:12]+use), err
}

// LogOf returns the path of the log of the operator that Run started last for the project in a directory, or "" if there is
// none.
func LogOf(projectDir string) string {
	absolute, err := filepath.Abs(projectDir)
	if err != nil {
		return ""
	}
	path, err := folderOf(absolute, "")
	if err != nil {
		return ""
	}
	log := (&folder{path: path}).log()
	if _, err := os.Stat(log); err != nil {
		return ""
	}
	return log
}

// Forget removes what is stored on this machine about a project whose cluster no longer exists, or where nobody will call Down.
func Forget(projectDir string) error {
	absolute, err := filepath.Abs(projectDir)
	if err != nil {
		return err
	}
	f, err := openFolder(absolute, "")
	if err != nil {
		return err
	}
	return f.remove()
}

// openFolder opens and locks the state of a project for this process.
func openFolder(projectDir, use string) (*folder, error) {
	path, err := folderOf(projectDir, use)
	if err != nil {
		return nil, err
	}
	lock, err := local.TryLock(path + ".lock")
	if errors.Is(err, local.ErrLocked) {
		commands := "`operon up` or `operon down`"
		if use != "" {
			commands = "`operon test`"
		}
		return nil, fmt.Errorf("another %s is running for %s (process %s); stop it first", commands, projectDir, local.NoteIn(path+".lock"))
	}
	if err != nil {
		return nil, err
	}
	f := &folder{project: projectDir, path: path, lock: lock}
	if err := errors.Join(lock.Note(fmt.Sprint(os.Getpid())), os.MkdirAll(path, 0o700), f.removeCredentials()); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the directory for the state: %w", err), lock.Unlock())
	}
	return f, nil
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }
func (f *folder) operator() string        { return f.file("operator") }
func (f *folder) log() string             { return f.file("operator.log") }
func (f *folder) kubeconfig() string      { return f.file("kubeconfig") }
func (f *folder) token() string           { return f.file("token") }
func (f *folder) where() string           { return f.file("where.json") }
func (f *folder) number() string          { return f.file("number") }
func (f *folder) args() string            { return f.file("args.json") }
func (f *folder) endpoint() string        { return f.file(endpointFile) }

// close removes the credentials and unlocks the directory.
func (f *folder) close() error {
	return errors.Join(f.removeCredentials(), f.lock.Unlock())
}

// removeCredentials removes the credentials, including those that a killed process left, and the address of an operator that
// no longer runs.
func (f *folder) removeCredentials() error {
	var problems []error
	for _, file := range []string{f.kubeconfig(), f.token(), f.endpoint()} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// remove removes the directory and unlocks it.
func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), os.Remove(f.path+".lock"), f.lock.Unlock())
}

// place is where and how the project ran last, for Down.
type place struct {
	Where
	// Server is the URL of the API server, or empty for a local cluster, whose port may change.
	Server string `json:"server,omitempty"`
	// Main is Options.Main.
	Main string `json:"main,omitempty"`
}

// remember records the place.
func (f *folder) remember(in place) error {
	content, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return writeFile(f.where(), content)
}

// remembered returns the place, or nil if the project has not run.
func (f *folder) remembered() (*place, error) {
	content, err := os.ReadFile(f.where())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in := &place{}
	return in, json.Unmarshal(content, in)
}

// keepArgs records the operator's own arguments, for a Down that has to run the operator again.
func (f *folder) keepArgs(args []string) error {
	content, err := json.Marshal(args)
	if err != nil {
		return err
	}
	return writeFile(f.args(), content)
}

// keptArgs returns the recorded arguments, or none if the operator has not run.
func (f *folder) keptArgs() ([]string, error) {
	content, err := os.ReadFile(f.args())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var args []string
	return args, json.Unmarshal(content, &args)
}

// writeFile replaces a file atomically. Only this user can read it.
func writeFile(path string, content []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
