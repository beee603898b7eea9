// Package kubeversion makes the components report their Kubernetes version. Released binaries get their version from linker
// flags, which `go install` cannot pass. Without them, the API server reports v0.0.0 to all clients that check the version,
// such as kubectl, Helm charts with a kubeVersion, and operators. The correct version is the version of the module
// k8s.io/kubernetes from which this binary was built.
package kubeversion

import (
	"fmt"
	"runtime/debug"
	"strings"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// The variables that linker flags set in released binaries.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

//go:linkname gitMajor k8s.io/component-base/version.gitMajor
var gitMajor string

//go:linkname gitMinor k8s.io/component-base/version.gitMinor
var gitMinor string

const module = "k8s.io/kubernetes"

// Set sets the version of the components to the version of the module from which they were built. If a test binary of another
// module does not contain it, the last known version is used.
func Set() error {
	found := moduleVersion()
	major, rest, ok := strings.Cut(strings.TrimPrefix(found, "v"), ".")
	minor, _, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 {
		return fmt.Errorf("module %s has version %q, which is not a version", module, found)
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

// fallback is the version of a binary without build information.
const fallback = "v" + version.DefaultKubeBinaryVersion + ".0"
