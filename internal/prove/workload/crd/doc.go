// Package crd evaluates what a CustomResourceDefinition allows, without a cluster: it accepts or rejects objects as an
// API server does, and creates variants of an object that differ from it in one place.
//
//	Read      the versions of a CRD, as kinds
//	Admit     defaults, schema, lists and CEL rules, including transition rules
//	Variants  other values for each field: within its bounds, at them, beyond them
//
// Variants may be invalid. Admit decides, with the libraries of the API server.
package crd
