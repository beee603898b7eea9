// Package pagecache limits the memory that a program uses for pages of its own executable. Most of the Kubernetes code runs
// only once, at the start, and the kernel would keep its pages in memory as long as there is free memory.
package pagecache
