// Package tools contains what the commands share and what writes and runs projects: reading a project, scaffolding, generators, lint rules,
// permissions, CRDs and the development loop.
//
// Its packages import any lower layer and each other. No operator links them; a test in package house checks this.
package tools
