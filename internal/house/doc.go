// Package house contains the rules of this repository as tests: which package may import which, how large a file, a function, a
// type and a package may be, what is documented, and which packages authors of operators can import. It has no code of its own.
// The tests read the sources of all modules in the repository and build nothing, except if a rule is about the packages that an
// operator links.
//
// The layers are declared in layers_test.go. Run `go test ./internal/house -rewrite` after a package was added or moved: it
// updates docs/images/architecture.svg and the table in docs/architecture.md.
package house
