// Package clusterwatch watches everything in a cluster once, for all concurrent runs of `operon prove`: what is in a
// namespace now, what happened in it, and when something changed last.
//
//	w, err := witness.Start(ctx, config)
//	scene := w.Scene("world-1")
//	scene.State()       // the objects
//	scene.Changes(0)    // their histories, states in between among them
//	<-scene.Changed()   // until something changes
//
// It sees with an administrator's eyes and beside the operator, whose requests are recorded by
// package proxy. What it knows may be some milliseconds old.
package clusterwatch
