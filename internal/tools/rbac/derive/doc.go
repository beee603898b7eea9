// Package derive derives the Roles of an operator from its code: from kubebuilder:rbac markers, and from the declarations of
// its composers.
//
// The packages of a project are type-checked, with only the parts of their imports that are needed to identify kinds. Starting at
// operon.Manage, the analysis follows each composer's methods to every child that is declared and every object that is read. The verbs
// follow from the requests that the runtime sends for them; the table is in verbs.go.
//
// If the code does not determine a kind, for example the kind of an unstructured object, a note states which marker to write. In projects
// without composers, only markers count.
package derive
