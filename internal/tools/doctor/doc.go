// Package doctor checks an operator project for problems that will cause trouble in production: rights that are too
// broad, a status that says too little, children that stay behind, loops that never rest, samples that an API server
// refuses.
//
// It is a list of named rules ([Rules]), as a linter is. [Examine] reads the project once, its
// manifests and its type-checked Go code, and asks each rule. Nothing is run and no cluster is needed.
// Each finding names rule, severity, place, reason and fix. A rule that would often be wrong is no
// rule: what is right all the same is said so where it stands, with the reason why:
//
//	//operon:ignore rbac-secrets users name any Secret of their namespace
//
// The rules themselves are in packages code (Go) and manifest (YAML) below this one.
package doctor
