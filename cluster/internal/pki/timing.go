package pki

import "time"

// Lifetime of the authority and of every leaf. A local cluster is thrown away
// long before; one kept with --data gets new leaves at each start.
const Lifetime = 10 * 365 * 24 * time.Hour

// timing holds the other durations of this package.
var timing = struct{ clockSkew time.Duration }{
	// clockSkew is how far NotBefore lies in the past, so that a machine whose clock
	// was just corrected backwards still accepts the certificates.
	clockSkew: time.Hour,
}
