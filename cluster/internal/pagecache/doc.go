// Package pagecache limits the memory that a program uses for pages of its own file: most of a Kubernetes' code runs
// once, at the start, and the kernel would keep it for as long as it has room.
package pagecache
