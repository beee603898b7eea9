package process

import (
	"encoding/json"
	"os"
)

// Mount is a directory that a child sees at another place, in a mount namespace of its own: nobody
// else does, nothing is written to the file system, and the kernel takes it away with the child,
// however that ends.
//
// Guarantees: what else there is near Target, the child sees as it was when it started. The child
// has its user, and no more rights than without.
//
// Caveats: only on Linux, and only where that lets this user make a namespace: ask [CanMount]. What
// appears later beside a Target that was not there is not seen. A user who is not root is alone
// in a user namespace: files of others belong to nobody there, and nothing can be run as another user.
type Mount struct {
	// Source is a directory that is there, Target an absolute path that need not be.
	Source, Target string
}

// entrance is what a process is told that makes the mounts and then becomes the child. Path is
// empty where it is only tried whether they can be made.
type entrance struct {
	Mounts []Mount
	Path   string
	Parent int
}

// encoded is the entrance as an argument.
func (e entrance) encoded() (string, error) {
	e.Parent = os.Getpid()
	text, err := json.Marshal(e)
	return string(text), err
}
