// Package prove finds reliability bugs in an operator. It injects the faults that Kubernetes allows to happen,
// such as crashes, lost responses and stale caches, and checks that the operator still reaches the state that it
// reaches without faults. Start with [Run], in a test that takes a few seconds:
//
//	func TestReliable(t *testing.T) {
//		prove.Run(t, prove.Test{Start: start, CRDs: "config/crd", Samples: "config/samples"})
//	}
//
// [Prove] does the same in a program and returns a report; `operon prove` is built on it:
//
//	report, err := prove.Prove(ctx, prove.Options{Operator: operator, Config: config, CRDs: crds, Samples: samples, …})
//
// A session first runs the operator without faults, to learn what is normal. It then executes plans, each with
// faults that are worth a run, until the time budget is used up, and confirms what they find. [Write] saves a plan file
// for each finding that can be repeated, and [Replay] carries it out again.
//
// The parts of a session are the packages below internal/prove. This package puts them together.
package prove
