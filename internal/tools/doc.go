// Package tools holds what the commands share and what writes and runs projects: reading a project,
// scaffolding, generators, lint rules, permissions, CRDs, the edit-to-running loop.
//
// Its packages import any lower layer and each other. No operator links them; package house holds that.
package tools
