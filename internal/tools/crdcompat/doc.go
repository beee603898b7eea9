// Package crdcompat reports what a changed CustomResourceDefinition would do to the stored objects before it is
// applied.
//
// An API server takes a definition without looking at objects. A field that the new schema lacks is
// dropped from each object when it is next read, and gone for good when it is next written; an object
// that a new rule refuses can no longer be written, not even its status. Both show only later, one
// object at a time.
//
//	report, err := crdsafe.Check(ctx, config, nil, definitions...)
//	if err == nil && !report.Safe() {
//		fmt.Print(report)
//	}
//
// [Comparison] is the same without a cluster: two definitions, and objects one after the other.
//
// Guarantees: fields, defaults and rules, those in CEL included, are judged by the API server's own
// code. Each finding names the version, the field's path and the objects. What was wrong before is no
// finding. A definition that is new or says what it said before costs no look at objects. Nothing is
// written.
// Assumptions: a definition that says nothing of conversion leaves that as it is; one with the annotation
// [ConversionAnnotation] is converted by an operator when that runs. Whoever asks may get the definitions and list their objects in the whole cluster.
// Caveats: what a conversion webhook makes of objects in a version that is new cannot be known here;
// package operontest tests that. While no webhook answers, only the version that is stored is judged. Rules on transitions (oldSelf) are not judged. Objects that are written
// between the look and the change are not seen.
package crdcompat
