// Package workload defines the scenarios that an operator is tested with: steps, each of which changes something and
// then waits until the operator has dealt with it.
//
//	create    the samples, as their author wrote them
//	change    a field becomes another valid value, and later what it was
//	refuse    an invalid value, which the API server or a webhook has to turn down
//	drift     somebody else changes or deletes a child
//	fail      a child's pod cannot start, or its node is lost, and then gets well
//	delete    all that was created; nothing may be left
//	recreate  the samples again, under the names that they had
//
// A [Workload] is data: it can be read, written by hand in YAML, and kept in a plan file, with all
// objects in it, so that a plan is replayed from one file. There are several sources:
//
//	Sample      the standard steps for a project's samples
//	Around      changes of what the samples only refer to
//	Operations  changes of each field, made from the schemas of the CustomResourceDefinitions
//	WithDrift   changes of the children that a first run has shown; Failing lets their pods fail
//	Read        steps that somebody wrote down
//
// Nothing here asks a cluster: the sources are functions of samples, definitions and files.
package workload
