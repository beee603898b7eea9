// Package mount shows a process a directory at another place, in a mount namespace of its own.
//
// Go cannot make mounts between the creation of a process and the start of its program. So this program is started a
// second time: an init function of this package makes the mounts and then becomes the wanted program. Until then, Go
// initializes other packages of this program as well. Therefore, this package imports almost nothing: Go then initializes
// it before most others, in some milliseconds instead of some tens of them.
package mount

import (
	"encoding/json"
	"os"
)

// Mount is a directory that a child sees at another place, in its own mount namespace. No other process sees it, nothing is
// written to the file system, and the kernel removes it when the child ends, in any way.
//
// Guarantees: the child sees everything else near Target as it was when the child started. The child has the same user and no
// more permissions than without mounts.
//
// Caveats: this works only on Linux, and only if this user may create a namespace: call [Possible]. If Target did not exist,
// the child does not see files that are created next to it later. A user other than root is alone in a user namespace: files
// of other users belong to nobody there, and no process can run as another user.
type Mount struct {
	// Source is an existing directory, and Target an absolute path that need not exist.
	Source, Target string
}

// entrance is the argument of a process that makes the mounts and then becomes the child. If Path is empty, it only tests
// whether the mounts can be made.
type entrance struct {
	Mounts []Mount
	Path   string
	Parent int
}

// encoded returns the entrance as an argument.
func (e entrance) encoded() (string, error) {
	e.Parent = os.Getpid()
	text, err := json.Marshal(e)
	return string(text), err
}
