// Package finding is what `operon prove` found wrong with an operator: which property does not
// hold, of which object, after which faults, with what was expected and what was found.
package finding
