// Package edit adds bundles to a file-based catalog. It changes only the channels that offer them, and keeps the comments, the order and the
// unknown fields of the files.
//
//	added, err := edit.Add(ctx, edit.Options{Catalog: "catalog", Bundles: []string{"bundle"}, Channels: []string{"stable"}})
package edit
