// Package sbom writes the SBOM of a Go program: an SPDX 2.3 document with each Go module that went into it, in its
// version and with the checksum by which go.sum knows it, and the Go toolchain whose standard library it holds.
//
// It is read from the program itself, where the linker wrote it, and not from go.mod: modules that are
// required but not linked are not in it, and replaced ones are as they were built. The same
// program gives the same document.
package sbom
