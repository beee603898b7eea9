// Package sbom writes the SBOM of a Go program: an SPDX 2.3 document with each Go module that was linked, its version and its
// checksum from go.sum, and the Go toolchain, whose standard library is part of the program.
//
// It reads the build information in the program, not go.mod: modules that are required but not linked are left out, and
// replaced modules are listed as they were built. The same program results in the same document.
package sbom
