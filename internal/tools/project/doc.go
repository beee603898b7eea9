// Package project reads an operator project from its directory: the Go module and its main package, the
// CustomResourceDefinitions, the permissions that the operator asks for, and the samples.
//
// It knows two layouts, and nobody has to say which: Operon's own, and kubebuilder's
// (Operator SDK's too), with main.go or cmd/main.go:
//
//	go.mod             the module; its last element names the operator
//	main.go, cmd/…     the one main package
//	config/crd/        CustomResourceDefinitions, or in config/crd/bases/
//	config/rbac/       Roles and ClusterRoles, and their bindings
//	config/policy/     admission policies and their bindings
//	config/samples/    the objects that show the operator at work
//	PROJECT, Makefile  kubebuilder's: the kinds, webhooks and plugins; what controller-gen is told
//
// A [Project] is what the manifests say. What the Go sources say is found without them: [Kinds], and
// for projects of kubebuilder's [ReadLayout] and [ReadControllerGen].
//
// Nothing is built, run or sent anywhere: reading costs milliseconds, and whatever is
// wrong is an error that names the file, the line and what to do. The packages that act
// on a project (up, and those that generate, prove and ship) all start from a [Project].
package project
