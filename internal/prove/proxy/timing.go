package proxy

import "time"

// timing holds the durations of this package.
var timing = struct{ validity, grace, linger, blind time.Duration }{
	// validity is how long a proxy's certificate is valid, before and after now. A proxy lives for minutes.
	validity: 7 * 24 * time.Hour,

	// grace is how long the server may take to respond to a write whose sender has ended: the default timeout of
	// a webhook. A response usually takes milliseconds, and seconds on a busy machine.
	grace: 10 * time.Second,

	// linger is how long a connection stays open after the last response was passed to the HTTP server: HTTP/2 writes it
	// a little later and does not report when.
	linger: 200 * time.Millisecond,

	// blind is how long an operator whose watch was ended may take to begin another one: the longest pause of client-go's reflectors.
	blind: 30 * time.Second,
}
