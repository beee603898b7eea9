//go:build !linux

package pagecache

// ReleaseCode does nothing on this system: only Linux reports where a program is mapped.
func ReleaseCode() error { return nil }
