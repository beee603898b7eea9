// Package scaffold writes the files of new projects, kinds and versions: a project (`operon init`), and in it kinds, controllers, webhooks
// and further versions of an API (`operon create …`). What can be derived from them is not scaffolded: package generate writes it in the
// same run.
//
// Each command is a struct with the user's choices. Its method Plan checks everything first: the names ([CheckKind] and similar functions),
// existing files, and the place of the new kind in main.go. New sources are added to a copy of the project, generators run there, and both
// results become one [Plan]: files to create and a few files to change. Nothing changes before [Plan.Apply], which writes all of it or
// nothing.
//
// A project is small on purpose: at most twelve files for one kind. Existing sources are changed only where a line must be added to a list
// (the arguments of operon.Main, the kinds of an API), at the position in the syntax tree, so that comments and layout stay.
package scaffold
