package installplan

import "time"

// timing holds the durations of this package.
var timing = struct{ retry, again, permission, start time.Duration }{
	// retry is how long to wait until a bundle that could not be read is read again.
	retry: 5 * time.Second,
	// again is how long to wait until a plan that was refused is checked again.
	again: 30 * time.Second,
	// permission is how long to wait until API servers know a permission.
	permission: 500 * time.Millisecond,
	// start is how long a manager that has started may take to read the catalogs.
	start: time.Minute,
}
