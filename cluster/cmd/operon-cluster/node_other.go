//go:build !linux

package main

import "errors"

// runNode is not called here: nothing starts a node.
func runNode(string) int { panic(errors.ErrUnsupported) }
