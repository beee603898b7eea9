// Package property interprets the properties of bundles: what a bundle provides, and the dependencies that other bundles have to meet, which
// may be kinds, packages in a range of versions, labels, and constraints with rules in the Common Expression Language (CEL).
//
//	content, err := property.Read("till", bundle, &property.Rules{})
//	met, err := content.Requires[0].Meets(other)
//
// Properties are untrusted: the size and the depth of constraints and the cost of rules are limited.
package property
