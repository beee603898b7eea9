// Package build builds the container image of an operator from its project: the main package as a static program for each
// platform, in an image that also has trusted CAs, a name for its user, /tmp and the licenses of linked modules. An SBOM is
// attached to each image.
//
//	result, err := build.Run(ctx, dir, build.Options{Platforms: []string{"linux/amd64", "linux/arm64"}})
//	err = result.Store.WriteArchive(ctx, "web.tar", name, result.Image)
//
// The same commit results in the same image, byte for byte, on every machine with the same versions of Go and Operon: the
// image contains no paths, times or settings of the machine. An operator without Go code gets its program from the release archive that
// contains Operon, or else it is compiled.
//
// Compiled programs are cached in Operon's directory together with hashes of their sources. A program whose sources did not
// change is not built again, and its layer stays the same.
package build
