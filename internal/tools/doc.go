// Package tools contains the code that the commands share and the code that writes and runs projects: reading a project,
// scaffolding, generators, lint rules, permissions, CRDs and the development loop.
//
// Its packages may import any lower layer and each other. Operators do not link them; a test in package house checks this.
package tools
