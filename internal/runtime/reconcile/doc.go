// Package reconcile brings the children of an object to what its composer declared, and writes the
// result into the object's status.
//
// steps.go is the reconcile: a list of named steps. Each step is a file of its name. A step reads what
// earlier steps found out and returns what it found out itself, which the list stores in the pass
// (pass.go); nothing else does. It ends in an outcome or an error, and failure.go is the rule by which
// an error becomes an outcome. object.go holds all writes to the object itself, and remembered.go what
// is remembered of an object between reconciles.
package reconcile
