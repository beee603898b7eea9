// Package check checks many bundles of strangers without a cluster: that their files survive being written, the rules of the lint, that the
// lifecycle manager renders what each CSV asks for, and the upgrade graph of each package.
//
// A finding is a mistake in a bundle, or a defect of Operon: the rules say which. A bundle that cannot be read, and one at which a check
// crashes, does not stop the others.
package check
