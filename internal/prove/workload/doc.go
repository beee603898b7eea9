// Package workload defines the scenarios that an operator is tested with: steps that change something and then wait until
// the operator has handled it.
//
//	create    the samples, unchanged
//	change    a field gets another valid value, and later the first one again
//	refuse    an invalid value, which the API server or a webhook must reject
//	drift     another client changes or deletes a child
//	fail      a child's pod cannot start, or its node is lost, and recovers later
//	delete    everything that was created; nothing may remain
//	recreate  the samples again, with the same names
//
// A [Workload] is data: it can be read, written by hand in YAML, and stored in a plan file with all its objects. A plan
// is therefore replayed from one file. There are several sources:
//
//	Sample      the standard steps for a project's samples
//	Around      changes of objects that the samples refer to
//	Operations  changes of each field, derived from the schemas of the CustomResourceDefinitions
//	WithDrift   changes of the children that a first run has shown; Failing makes their pods fail
//	Read        steps from a file
//
// No source needs a cluster: they are functions of samples, CRDs and files.
package workload
