package build

import (
	"fmt"

	"github.com/operon-framework/operon/internal/ship/image"
)

// User is the user ID with which operators run: it is not a user of any machine, and it is commonly used for this purpose.
const User = 65532

// Program is the path of the program in the image. It is the same as in kubebuilder projects, so that their manifests run it.
const Program = "manager"

// baseFiles returns the files that an operator needs besides its program. They include no shell and no other executable.
func baseFiles(roots []byte) []image.File {
	return []image.File{
		image.Content(image.RootsFile, 0o644, roots),
		image.Content("etc/passwd", 0o644, []byte(passwd)),
		image.Content("etc/group", 0o644, []byte(group)),
		{Path: "tmp", Mode: 0o1777, Folder: true},
	}
}

var (
	passwd = fmt.Sprintf("root:x:0:0:root:/:/nonexistent\nnonroot:x:%d:%d:nonroot:/:/nonexistent\n", User, User)
	group  = fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", User)
)
