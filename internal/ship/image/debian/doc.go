// Package debian provides the files of Debian packages for images, on machines that reach a package source but no image registry:
//
//	root, err := debian.Unpack(ctx, folder, debian.Options{Packages: []string{"memcached"}})
//	layer, err := store.Layer(ctx, "memcached", root.Files)
//
// apt resolves the dependencies of the packages and downloads them as for a machine without any package. Each file is compared with the
// SHA-256 in the signed index. The packages of this machine are neither changed nor used. Files are read from the archives, so that
// neither root privileges nor a chroot are needed.
//
// Package scripts are not run, and packages that only scripts need are left out, such as debconf and adduser. Users and databases that
// scripts would create are missing. The package adds the links of busybox, the shell, directories that programs expect, and a description
// of each package for vulnerability scanners.
package debian
