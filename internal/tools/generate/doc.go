// Package generate generates everything in a project that can be derived from its Go types: deepcopy methods,
// CustomResourceDefinitions, Roles, webhook configurations, and on request more. It is what `operon generate` runs.
//
// A run goes like this: the project's folder tells what is wanted ([Options], a
// `//go:generate operon generate …` line, or the Makefile of a kubebuilder project), the
// packages are loaded once, every generator works on that one load, and all that they
// write is collected in a [changes.Set], so that a run changes all files that differ or
// none. The generators are controller-tools' own where they do what users need; what they
// get is a shared collector of markers and a shared type checker.
//
// Nothing is loaded at all when nothing changed: a stamp in the folder of Operon's state,
// never in the project, holds what went in and what came out.
package generate
