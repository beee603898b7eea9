// Package image builds container images without a daemon: layers from lists of files, images and indexes, and attachments,
// all stored as blobs in a [Store], which is an OCI image layout in a directory. From there they are written to a file, a
// directory or a registry:
//
//	store, err := image.Open(folder)
//	layer, err := store.Layer(ctx, files)
//	made, err := store.Image(image.Config{...}, layer)
//	err = store.WriteArchive(ctx, "web.tar", "web:1.0", image.Image{Descriptor: made})
//
// layer.go makes layers, manifest.go images and indexes, and the other files write and read them.
//
// The same files result in the same bytes on every machine and for every user: entries are sorted and have no timestamps or
// user names, and the list of files sets their owners.
//
// Nothing is left half-written: files, blobs and the index of a layout are replaced when they are complete.
package image
