package author

import "sigs.k8s.io/controller-runtime/pkg/client"

// Finalization is the access of Finalize to the cluster. It also receives what Finalize reports.
type Finalization struct {
	reading
	verdict
	client client.Client
}

// Client reads and writes without a cache.
func (f *Finalization) Client() client.Client { return f.client }

// NewFinalization returns the finalization of an owner. Its composer reads through reads, and reads and writes through direct.
func NewFinalization(owner client.Object, reads Reads, direct client.Client) *Finalization {
	return &Finalization{reading: reading{reads: reads, owner: owner}, client: direct}
}

// Finalized returns what Finalize reported.
func Finalized(out *Finalization) Verdict { return out.found }
