// Package slow makes an API server respond like one on a busy machine if the binary is built with -tags slow: each watch stops for a
// while, and some requests are delayed. Without the tag it does nothing. With it, tests that depend on timing fail.
package slow
