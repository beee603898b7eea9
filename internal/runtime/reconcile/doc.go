// Package reconcile is the loop that brings children to what a composer declared, and
// tells in the object's status what became of it.
//
// steps.go is the loop: a list of named steps. Everything else here is one of those steps,
// or what a step needs: pass.go holds what a reconcile knows as it goes on, failure.go is
// the rule by which an error becomes an outcome, composition.go and observed.go are what
// an author's code is given.
package reconcile
