// Package operontest tests operators that are written with package operon.
//
// What a composer declares is compared with a golden file. No cluster is needed:
//
//	var memcached = operontest.New(Memcached{}, v1alpha1.AddToScheme)
//
//	func TestChildren(t *testing.T) {
//		memcached.Golden(t, sample(t), "testdata/children.yaml")
//	}
//
// What the operator does about an object is a [Case]: what there is, what happens, and what
// is written, told and read then. Anything else that is written, told or read fails it. The
// reconcile is the real one; the API under it is in memory, and time stands still unless a
// step lets it pass:
//
//	memcached.Run(t, operontest.Case[*v1alpha1.Memcached]{
//		Name:   "a new object",
//		Object: sample(t),
//		Reads:  []string{"Pod"},
//		Expect: operontest.Expect[*v1alpha1.Memcached]{
//			Writes:     []string{"create Deployment example", "status Memcached example"},
//			Events:     []string{"Created: Deployment example"},
//			Conditions: []string{"Ready=False ChildNotReady"},
//		},
//	})
//
// The same case runs with the real operator on a real API server with [Operator.RunOn], and
// [Operator.Story] tells what happens in it.
//
// [Conversion] tests that conversions between the versions of a kind lose nothing.
//
// [Sample] reads the object that a project ships as its sample, and [Object] copies one;
// both take changes as functions. Nothing that a case does reaches another one's objects.
package operontest
