// Package crdcompat reports what a changed CustomResourceDefinition would do to the stored objects, before it is applied.
//
// An API server accepts a CRD without checking objects. A field that the new schema lacks is dropped from each object when it is read, and
// is lost when the object is written; an object that violates a new rule can no longer be written, not even its status, unless the rule is
// about a part of it that the write does not change. These problems show only later, one object at a time.
//
//	report, err := crdcompat.Check(ctx, config, nil, definitions...)
//	if err == nil && !report.Safe() {
//		fmt.Print(report)
//	}
//
// [Comparison] is the same without a cluster: for two CRDs and a list of objects.
//
// Guarantees: the API server's own code evaluates fields, defaults and rules, including CEL. Each finding names the version, the path of
// the field and the objects. Problems that existed before are not reported. A CRD that is new or unchanged causes no reads of objects.
// Nothing is written.
//
// Assumptions: a CRD without a conversion strategy keeps the current one. An operator converts the objects of a CRD with the annotation
// [ConversionAnnotation] while it runs. The user may get the CRDs and list their objects in the whole cluster.
//
// Caveats: the results of a conversion webhook for a new version are unknown here; package operontest tests them. If no webhook answers,
// only the stored version is checked. Transition rules (oldSelf) are not evaluated. API servers
// before Kubernetes 1.30 also reject writes that do not change an invalid part. Objects that are written between the check and the
// change are not covered.
package crdcompat
