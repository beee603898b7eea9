// Package accept reads the list of findings that the authors of an operator accept, each with a reason, so that `operon prove` fails in CI
// only for new ones.
package accept
