//go:build !linux && !darwin

package store

// identity returns nothing: here, the time of modification and the size have to do.
func identity(string) (string, error) { return "", nil }
