package resourceclient

import "strconv"

// Revision returns a resource version as a number, which increases with each write to a kind:
// Kubernetes guarantees that since 1.35, and etcd has always done it. It is 0 for a version that is not
// a number, which then counts as older than everything.
func Revision(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
