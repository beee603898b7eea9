package serve

import "time"

// timing has the durations of a server.
var timing = struct {
	// poll is the time between two looks at the files of the catalog. Notifications of file systems do not cross networks and mounts of
	// containers, so that they would not replace it.
	poll time.Duration
	// trim is the time between two returns of memory to the system.
	trim time.Duration
	// header and request limit how long a client may take to send a request, idle how long a connection stays open without one, and response
	// how long a client may take to read the catalog.
	header, request, idle, response time.Duration
	// stop is how long requests may take to end when the server stops.
	stop time.Duration
}{
	poll: 2 * time.Second, trim: 10 * time.Second,
	header: 5 * time.Second, request: 10 * time.Second, idle: time.Minute, response: 5 * time.Minute,
	stop: 5 * time.Second,
}
