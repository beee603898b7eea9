// Package clusterwatch watches all objects of a cluster once, for all concurrent runs of `operon prove`. It stores the current objects of
// each namespace, their histories, and the time of the last change.
//
//	w, err := clusterwatch.Start(ctx, config)
//	scene := w.Scene("world-1")
//	scene.State()       // the objects
//	scene.Changes(0)    // their histories, including intermediate states
//	<-scene.Changed()   // until something changes
//
// It has the permissions of an administrator and does not go through the operator's proxy, which records requests. Its state may be some
// milliseconds old.
package clusterwatch
