// Package generate generates everything in a project that can be derived from its Go types: deepcopy methods,
// CustomResourceDefinitions, Roles, webhook configurations, and more on request. `operon generate` runs it.
//
// A run first determines what to generate ([Options], a `//go:generate operon generate …` line, or the Makefile of a
// kubebuilder project). It loads the packages once for all generators, and collects their output in a [changes.Set], so that
// a run changes all files that differ or none. It uses the generators of controller-tools where they do what users need, with
// a shared collector of markers and a shared type checker.
//
// If no input changed, nothing is loaded: a stamp in Operon's state directory, never in the project, records inputs and
// outputs.
package generate
