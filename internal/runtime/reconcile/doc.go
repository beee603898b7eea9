// Package reconcile makes the children of an object match what its composer declared, and writes the result to the object's status.
//
// steps.go defines the reconcile: a list of named steps, each in a file of its name. A step reads the results of earlier steps and
// returns its own, which only the list stores (pass.go). It ends with an outcome or an error; failure.go turns an error into an
// outcome. run.go runs one step: its time limit, its panics and its measurements. The object itself is written by object.go (metadata),
// status.go, journal.go (steps that began) and external.go (records of external resources). remembered.go contains the state that is kept
// between the reconciles of an object.
package reconcile
