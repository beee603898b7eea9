// Package rotation decides what to do with an operator's certificates at a given time: whether there have to be new
// ones, and when to look again. It is pure: it makes no certificate, reads no clock and asks nobody, so that years of
// rotation, with replicas whose clocks differ, are scenario files.
//
// The operator has a certificate authority of its own, a CA, which signs the leaf that every
// replica serves. API servers trust the CAs in the bundles of the webhooks' configurations.
//
//	make       nothing usable is kept: a CA, and a leaf that it signs
//	introduce  the CA is two thirds through its life: a second one comes into the bundles
//	publish    all bundles have the second one: from now on it settles
//	promote    it has settled: it signs a leaf, the first one's key goes
//	renew      the leaf is two thirds through its life: the CA signs another one
//	drop       a CA of former times has expired: it leaves the bundles
//
// Guarantees: whoever trusts a bundle of any moment trusts the leaf of that moment and the one before,
// as a CA signs nothing before it has been in every bundle for a while, and stays in them for as long as anything that
// it signed is valid. What one replica did is never undone by another one: each decision leads away
// from the state that it was made in. Hours without any replica harm nothing, and after years
// without one everything is made anew.
//
// Assumptions: clocks differ by less than Times.Skew. A CA in a bundle is known to all API servers
// within Times.Settle.
//
// Caveats: with kept certificates deleted, or expired, requests fail until the new bundle is known.
package rotation
