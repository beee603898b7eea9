// Package doctor checks an operator project for problems that will cause trouble in production: permissions that are too broad, an
// insufficient status, children that are never deleted, hot loops, samples that an API server rejects.
//
// It is a list of named rules ([Rules]), like a linter. [Examine] reads the project once, its manifests and its type-checked Go code, and
// applies each rule. It runs none of the project's code and needs no cluster. Each finding has a rule, severity, location, reason and fix. A rule that would
// often be wrong is not included. To ignore a finding, write the reason at its location:
//
//	//operon:ignore rbac-secrets users name any Secret of their namespace
//
// Packages code (Go) and manifest (YAML) contain the rules.
package doctor
