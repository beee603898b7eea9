// Package operontest tests operators that are written with package operon.
//
// What a composer declares is compared with a golden file. No cluster is needed:
//
//	var memcached = operontest.New(Memcached{}, v1alpha1.AddToScheme)
//
//	func TestChildren(t *testing.T) {
//		memcached.Golden(t, sample(t), "testdata/children.yaml")
//	}
package operontest
