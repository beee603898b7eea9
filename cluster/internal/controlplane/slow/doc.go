// Package slow makes an API server respond like that of a busy machine if the binary is built with -tags slow:
// watches stand still, each for itself, and some requests wait. Without the tag it does nothing. Tests that bet on
// time fail with it.
package slow
