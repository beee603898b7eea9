// Package build builds the container image of an operator from its project: the main package as a static program for
// each platform, in an image that also has trusted CAs, a name for the user that it runs as, /tmp and the licenses of linked modules; and
// to each the list of modules that went into it.
//
//	result, err := build.Run(ctx, dir, build.Options{Platforms: []string{"linux/amd64", "linux/arm64"}})
//	err = result.Store.WriteArchive(ctx, "web.tar", name, result.Image)
//
// The same commit gives the same image, byte for byte, wherever it is built by the same Go and
// the same Operon: paths, times and settings of the machine do not go in.
//
// What was compiled is kept below Operon's folder, with what it was compiled from. A program of which no source
// changed is not built again, and its layer stays as it is.
package build
