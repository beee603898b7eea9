// Package pagecache keeps small what a program holds in memory of its own file: most of a
// Kubernetes' code runs once, at the start, and the kernel would keep it for as long as it
// has room.
package pagecache
