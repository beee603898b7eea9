// Package catalog reads, checks and makes file-based catalogs of operators: the packages, channels and bundles from which the Operator
// Lifecycle Manager installs.
package catalog
