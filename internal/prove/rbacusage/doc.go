// Package rbacusage derives the permissions that an operator needs from the requests that it sent.
//
//	Needed    the permissions that recorded requests needed, and those that go with them
//	Of        the permissions that a project's Roles grant
//	Diff      permissions that are missing, or granted and never used
//	Findings  the same as findings, with a fix and a location
//
// Rules are evaluated as Kubernetes does, with wildcards and resource names. A few runs do not show all work of an operator,
// so some permissions count as needed because others are needed: see docs/prove/rights.md.
package rbacusage
