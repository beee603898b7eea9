package build

import (
	"fmt"

	"github.com/operon-framework/operon/internal/ship/image"
)

// User is whom operators run as: no user of any machine, and the one that others use for this, too.
const User = 65532

// Program is where the program is in the image: where kubebuilder has it, so that manifests of its projects run it.
const Program = "manager"

// baseFiles are what an operator needs besides its program. There is no shell, and nothing else that could be run.
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
