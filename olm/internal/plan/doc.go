// Package plan says which objects are written for bundles by plans and versions, and which of them a cluster need not have.
package plan
