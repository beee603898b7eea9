package author

import "sigs.k8s.io/controller-runtime/pkg/client"

// Finalization is what Finalize reads by, and reports to.
type Finalization struct {
	reading
	verdict
}

// NewFinalization returns the finalization of an owner, whose composer reads through reads.
func NewFinalization(owner client.Object, reads Reads) *Finalization {
	return &Finalization{reading: reading{reads: reads, owner: owner}}
}

// Finalized returns what Finalize reported.
func Finalized(out *Finalization) Verdict { return out.found }
