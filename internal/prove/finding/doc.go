// Package finding defines the findings of `operon prove`: which property does not hold, of which object, after which
// faults, with what was expected and what was found.
package finding
