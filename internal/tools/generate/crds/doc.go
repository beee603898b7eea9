// Package crds generates CustomResourceDefinitions like controller-tools, with two additional markers:
//
//	+operon:feature-gate=NAME       on a field: only with the gate named is it in the definition
//	+operon:description:max=BYTES   on a type or a field: how long its descriptions may be
//
// Controller-tools has neither. So that there is one generator of schemas and no second one beside it,
// the syntax that it reads is changed in memory while it works, and put back: a field that is gated gets the
// tag of one that is not stored, and a comment is cut. No file is touched.
package crds
