// Package slow has an API server answer as that of a busy machine does, where the binary is built with -tags slow:
// watches stand still, each for itself, and some requests wait. Without the tag it does nothing. Tests that bet on
// time fail with it.
package slow
