// Package localtest gives your tests a real Kubernetes cluster: an API server, the controllers, and the simulated
// nodes of package local. Start with [Shared]:
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
// Shared takes milliseconds. All tests on a machine share the cluster "test": the first test starts it, it keeps
// running for the next `go test`, and it stops automatically ten minutes after the last one. Each test gets its own
// namespace. Cluster-scoped objects, such as CustomResourceDefinitions and ClusterRoles, are shared: give them names
// that no other test uses, or use [New], which starts a cluster for this test alone in about a second.
//
// A [Gate] delays watch events, to test code with a stale cache.
//
// When a test ends, its namespace is deleted with everything in it. A namespace that cannot be deleted fails the test,
// because an object in it has a finalizer that no controller removes.
package localtest
