// Package reconcile makes the children of an object match what its composer declared, and writes the result to the object's status.
//
// steps.go defines the reconcile: a list of named steps, each in a file of its name. A step reads the results of earlier steps and
// returns its own, which only the list stores (pass.go). It ends with an outcome or an error; failure.go turns an error into an
// outcome. object.go contains all writes to the object itself, and remembered.go the state that is kept between the reconciles of an
// object.
package reconcile
