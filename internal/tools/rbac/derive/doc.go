// Package derive derives the Roles of an operator from its code: of kubebuilder:rbac markers, and of what its
// composers declare, so that nobody has to write down what the code says already.
//
// What is declared is found in the code itself: the packages of a project are type-checked, with
// as little of what they import as tells kinds apart, and followed from operon.Manage to each
// composer's methods, and from there to every child that is declared and every object that is
// read. Which verbs that takes is what the runtime does with it; the table stands in verbs.go.
//
// A kind that the code does not tell, such as that of an unstructured object, makes a note that
// says what to write down. A project without composers is left to its markers.
package derive
