// Package crd evaluates what a CustomResourceDefinition allows, without a cluster: it admits or refuses objects as an
// API server does, and makes variants of an object, each of which differs from it in one place.
//
//	Read      the versions of a definition, as kinds
//	Admit     defaults, schema, lists, and rules in CEL, those about changes among them
//	Variants  other values for each field: within its bounds, at them, beyond them
//
// Whether a variant is valid is not for the one who makes it to say: Admit is asked, which is made
// of the same libraries as the API server.
package crd
