// Package store is a cache of a file-based catalog on disk, from which servers answer queries. Opening it takes milliseconds, and its memory
// does not grow with the catalog: an index of packages is in memory, and everything else is read when it is asked for.
//
//	opened, err := store.Open(ctx, store.Options{Sources: []string{"catalog"}, Dir: "cache"})
//	bundle, err := opened.Head("memcached", "stable")
//
// The cache is two files in a directory: the objects of the catalog as JSON lines, and the bundles as messages of the service api.Registry
// with an index. They are named by the digest of the catalog's files, so that a changed catalog gets a new cache beside the old one. Each part
// has a checksum, which is compared whenever the part is read.
package store
