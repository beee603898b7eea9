// Package debian provides the files of Debian packages for images, on machines that reach a package source but no
// image registry:
//
//	root, err := debian.Unpack(ctx, folder, debian.Options{Packages: []string{"memcached"}})
//	layer, err := store.Layer(ctx, "memcached", root.Files)
//
// apt finds what the packages depend on, downloads it and checks its signatures, as it would for an installation on a
// machine on which nothing is installed yet; nothing of this machine's own packages is changed or used. Files are
// read from the packages' archives, so that neither root's rights nor a chroot is needed.
//
// Scripts of packages are not run. So what only they need is left out, too: debconf, adduser and the like. What
// a script would have made (users, databases) is not there; links of busybox, the shell and
// folders that programs expect are.
package debian
