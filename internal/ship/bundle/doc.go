// Package bundle reads operator bundles: the packages from which the Operator Lifecycle Manager installs operators. It reads
// both layouts, registry+v1 and the older one with a package.yaml file, checks them, and converts the older layout.
//
// Bundles are untrusted. Nothing in them is executed, files are only read below the bundle's directory, and sizes are bounded.
package bundle
