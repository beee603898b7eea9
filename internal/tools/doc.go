// Package tools contains the code that the commands share and the code that writes and runs projects: reading a project,
// scaffolding, generators, lint rules, permissions, CRDs and the development loop.
//
// Its packages may import any lower layer and each other. Package operon does not link them, which a test in
// package house checks; the lifecycle manager links some.
package tools
