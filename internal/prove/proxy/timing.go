package proxy

import "time"

// timing holds the durations of this package.
var timing = struct{ validity, grace, linger time.Duration }{
	// validity of a proxy's certificate, before and after now. A proxy lives for minutes.
	validity: 7 * 24 * time.Hour,

	// grace is how long the server may take to answer a write whose sender has ended: the default timeout of
	// a webhook. It usually takes milliseconds, and seconds on a busy machine.
	grace: 10 * time.Second,

	// linger keeps a connection open after the last answer was handed to the HTTP server: HTTP/2 writes it
	// a little later and does not report when.
	linger: 200 * time.Millisecond,
}
