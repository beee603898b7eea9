//go:build !linux

package main

import "errors"

// runNode is never called on this platform: no node is started.
func runNode(string) int { panic(errors.ErrUnsupported) }
