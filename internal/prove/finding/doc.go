// Package finding defines the findings of `operon prove`: the property that does not hold, the object, the faults before it, and the
// expected and found state.
package finding
