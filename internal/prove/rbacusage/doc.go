// Package rbacusage derives the permissions that an operator needs from the requests that it sent.
//
//	Needed    the rights that recorded requests needed, and those that go with them
//	Of        the rights that a project's Roles grant
//	Diff      what is missing, and what is granted and was never used
//	Findings  the same as findings, with what to do and where
//
// Whether a rule allows a request is decided as Kubernetes does it, wildcards and names among
// that. Few runs do not show all that an operator ever does, so some rights are taken for needed
// that go with others: see docs/prove/rights.md.
package rbacusage
