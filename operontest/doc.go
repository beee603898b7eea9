// Package operontest tests operators that you write with package operon.
//
// Start with a golden file of the children that a composer declares. It needs no cluster:
//
//	var memcached = operontest.New(Memcached{}, v1alpha1.AddToScheme)
//
//	func TestChildren(t *testing.T) {
//		memcached.Golden(t, sample(t), "testdata/children.yaml")
//	}
//
// A Case tests what the operator does with an object. It lists the objects that exist, what happens, and the
// expected writes, events, conditions and reads. Anything else that is written, reported or read fails the case.
// The reconciler is the real one. The API is in memory, and time passes only in the Wait of a step:
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
// Operator.RunOn runs the same case with the real operator on a real API server. Operator.Story returns a
// description of what happens in it.
//
// Conversion tests that conversions between the versions of a kind lose nothing.
//
// Sample reads the sample object that a project ships, and Object copies an object. Both take functions that
// change the result. Cases do not share objects, so they cannot affect each other.
package operontest
