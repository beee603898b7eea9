package resourceclient

import "strconv"

// Revision is a resource version as a number, which grows with each write to a kind:
// Kubernetes promises that since 1.35, and etcd has always done it. It is 0 for what is no
// number, which then counts as older than everything.
func Revision(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
