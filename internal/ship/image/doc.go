// Package image builds container images without a daemon: layers from lists of files, the images and indexes over
// them, and what is attached to them, all as blobs in a [Store], which is an OCI image layout in a folder. From there
// they go to a file, a folder or a registry:
//
//	store, err := image.Open(folder)
//	layer, err := store.Layer(ctx, files)
//	made, err := store.Image(image.Config{...}, layer)
//	err = store.WriteArchive(ctx, "web.tar", "web:1.0", image.Image{Descriptor: made})
//
// The same files give the same bytes wherever and by whomever an image is made: entries are
// sorted, have no time and no names of users, and belong to whom their list says.
//
// Nothing is left half-written: a file, a blob and the index of a layout appear when they are
// whole, in the place of what was there.
package image
