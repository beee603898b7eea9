//go:build unix

package image

import (
	"io/fs"
	"syscall"
)

// noFollow makes opening a link fail, and opening a pipe return immediately.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func ownedByRoot(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && owner.Uid == 0
}
