// Package prove finds the reliability bugs of an operator: it lets everything go wrong that
// Kubernetes may let go wrong, and looks whether the operator ends where it ends otherwise.
//
//	report, err := prove.Prove(ctx, prove.Options{Operator: operator, CRDs: crds, Samples: samples, …})
//
// As a test it takes a few seconds:
//
//	func TestReliable(t *testing.T) {
//		prove.Run(t, prove.Test{Start: start, CRDs: "config/crd", Samples: "config/samples"})
//	}
//
// A session has these parts, each in a package of its own:
//
//	workload   what is done with the operator's objects
//	world      carries a plan out: a namespace, a proxy, an operator
//	witness    sees what becomes of the objects
//	trace      all that was seen of a run
//	plan       chooses the faults that are worth a run
//	oracle     judges a trace
//	report     tells
//
// This package puts them together: it learns from runs without faults what is normal, carries out
// plans until the budget is used up, and makes sure of what they find.
package prove
