//go:build !linux

package pagecache

// ReleaseCode does nothing here: only Linux tells a program where it is mapped.
func ReleaseCode() error { return nil }
