// Package project reads an operator project from its directory: the Go module and its main package, the
// CustomResourceDefinitions, the permissions of the operator, and the samples.
//
// It detects two layouts, Operon's own and kubebuilder's (which Operator SDK shares), with main.go or cmd/main.go:
//
//	go.mod             the module; its last element names the operator
//	main.go, cmd/…     the main package
//	config/crd/        CustomResourceDefinitions, or in config/crd/bases/
//	config/rbac/       Roles and ClusterRoles, and their bindings
//	config/policy/     admission policies and their bindings
//	config/samples/    sample objects
//	PROJECT, Makefile  kubebuilder's: kinds, webhooks and plugins; arguments of controller-gen
//
// A [Project] contains what the manifests declare. [Kinds], and for kubebuilder projects [ReadLayout] and
// [ReadControllerGen], read the Go sources.
//
// [Read] builds, runs and sends nothing: it takes milliseconds, and errors name the file, the line and a fix. compile.go and stocksources.go
// start the go command. The packages that work on a project (up, and those that generate, prove and ship) start with a [Project].
package project
