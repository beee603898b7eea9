// Package kubeversion makes the components report their Kubernetes version. Released binaries get their version from
// linker flags, which `go install` cannot pass, and without them the API server says v0.0.0 to everyone who asks:
// kubectl, Helm charts with a kubeVersion, operators that look. The true version is the one of the module
// k8s.io/kubernetes that this binary was built from.
package kubeversion

import (
	"fmt"
	"runtime/debug"
	"strings"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// The variables that the released binaries' linker flags set.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

//go:linkname gitMajor k8s.io/component-base/version.gitMajor
var gitMajor string

//go:linkname gitMinor k8s.io/component-base/version.gitMinor
var gitMinor string

const module = "k8s.io/kubernetes"

// Set gives the components the version of the module that they were built from. A test
// binary of another module may not know it; then the last known one is told.
func Set() error {
	found := moduleVersion()
	major, rest, ok := strings.Cut(strings.TrimPrefix(found, "v"), ".")
	minor, _, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 {
		return fmt.Errorf("module %s has version %q, which is no version", module, found)
	}
	gitVersion, gitMajor, gitMinor = found, major, minor
	return version.SetDynamicVersion(found)
}

func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return fallback
	}
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return fallback
}

// fallback is told where a binary carries no build information.
const fallback = "v" + version.DefaultKubeBinaryVersion + ".0"
