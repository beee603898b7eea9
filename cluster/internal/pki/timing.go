package pki

import "time"

// Lifetime is the lifetime of the authority and of every leaf. A local cluster is deleted long before that. A cluster that is
// retained with --data gets new leaves at each start.
const Lifetime = 10 * 365 * 24 * time.Hour

// timing holds the other durations of this package.
var timing = struct{ clockSkew time.Duration }{
	// clockSkew is how far NotBefore is in the past, so a machine whose clock was just set back still accepts the certificates.
	clockSkew: time.Hour,
}
