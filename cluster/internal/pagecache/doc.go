// Package pagecache limits the memory that a program uses for pages of its own executable: most of the Kubernetes code runs once, at the
// start, and the kernel would keep its pages for as long as it has free memory.
package pagecache
