// Package gobuild defines how operators are compiled by commands that run them, so that packages that several commands need are compiled
// once.
package gobuild

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// Flags returns the flags and environment variables that compile operators as this program was compiled.
//
// A release was compiled without cgo and without names of directories, as programs in images are: what it compiles does not have to be
// compiled again by `operon build`. Other programs compile like the go command, which has compiled many of the packages for this program.
// CGO_ENABLED in the environment is kept, and GOFLAGS that need cgo, or whose linker flags are for debuggers, disable everything.
func Flags() (flags, env []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, nil
	}
	return like(info.Settings)
}

func like(own []debug.BuildSetting) (flags, env []string) {
	has := func(key, value string) bool { return slices.Contains(own, debug.BuildSetting{Key: key, Value: value}) }
	if !has("-trimpath", "true") || !has("CGO_ENABLED", "0") {
		return nil, nil
	}
	everyday := os.Getenv("GOFLAGS")
	for _, flag := range []string{"-ldflags", "-race", "-msan", "-asan"} {
		if strings.Contains(everyday, flag) {
			return nil, nil
		}
	}
	if os.Getenv("CGO_ENABLED") == "" {
		env = []string{"CGO_ENABLED=0"}
	}
	return []string{"-trimpath"}, env
}
