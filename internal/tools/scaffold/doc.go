// Package scaffold writes the files of new projects, kinds and versions: a project (`operon init`), and in it kinds,
// controllers, webhooks and further versions of an API (`operon create …`). What can be derived from that is not
// scaffolded: it comes from package generate, in the same go.
//
// Each command is a struct of what is wanted, whose method Plan looks at all of it first: the
// names ([CheckKind] and its likes), what is there already, where in main.go the new kind
// belongs. The sources that come of it are laid over a copy of the project, generators run there,
// and what both say becomes one [Plan]: files that are created, and few that are changed. Until
// [Plan.Apply] nothing is touched, and that writes all of it or, whatever happens, nothing.
//
// A project is kept small on purpose: at most twelve files for one kind. Existing sources are
// changed only where a line has to be added to a list (the parts of operon.Main, the kinds of an
// API), at the place that the syntax tree tells, so that comments and layout stay.
package scaffold
