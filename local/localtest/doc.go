// Package localtest gives tests a real Kubernetes: the API server, the controllers and
// simulated nodes of package local.
//
//	func TestMemcached(t *testing.T) {
//		t.Parallel()
//		env := localtest.Shared(t)
//		env.InstallCRDs(t, "../config/crd")
//		c, err := client.New(env.Config, client.Options{})
//		…
//		localtest.Eventually(t, "three nodes in the status", func(ctx context.Context) error {
//			…
//		})
//	}
//
// [Shared] costs some milliseconds: all tests of a machine share the cluster "test", which is
// started by the first, is left running for the next `go test`, and stops by itself ten
// minutes after the last. Each test gets a namespace of its own. What is not in a
// namespace (CustomResourceDefinitions, ClusterRoles) is shared, so give such objects names
// that no other test uses, or take [New], a cluster of the test's own for about a second.
//
// A [Gate] holds back what watches show, for tests of code whose caches are behind.
//
// Everything that a test made is removed when it ends, and a namespace that cannot be
// removed fails the test: it tells of a finalizer that nobody serves.
package localtest
