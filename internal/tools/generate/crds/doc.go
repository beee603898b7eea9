// Package crds generates CustomResourceDefinitions like controller-tools, with two additional markers:
//
//	+operon:feature-gate=NAME       on a field: the CRD contains it only if the feature gate is enabled
//	+operon:description:max=BYTES   on a type or a field: the maximum length of its descriptions
//
// Controller-tools has neither. To keep one generator of schemas, this package changes the syntax trees that it reads in memory, and
// restores them afterwards: a gated field gets the tag of a field that is not stored, and comments are shortened. No file is changed.
package crds
