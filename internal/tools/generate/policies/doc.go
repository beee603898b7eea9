// Package policies generates ValidatingAdmissionPolicies from markers: CEL rules that API servers evaluate without a webhook.
//
// A marker is on an API type or, for kinds of other projects, anywhere in a package:
//
//	// +operon:policy:name=small,expression="object.spec.size <= 3",message="at most 3"
//	type Memcached struct {
//
// Expressions are compiled against the schema of the type, as API servers do, so that a field that does not exist is reported with file,
// line and column.
package policies
