// Package policies generates ValidatingAdmissionPolicies from markers: rules in CEL that API servers judge by
// themselves, for which nobody has to answer.
//
// A marker stands on an API type, or, for kinds of others, anywhere in a package:
//
//	// +operon:policy:name=small,expression="object.spec.size <= 3",message="at most 3"
//	type Memcached struct {
//
// Expressions are compiled against the schema of the type, as API servers will, so that a field
// that is not there is found now, with file, line and column.
package policies
