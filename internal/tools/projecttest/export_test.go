package projecttest

import "time"

// HurryCollection shortens the time in which garbage collection has to delete objects.
func HurryCollection() { timing.collected = 30 * time.Second }
