// Package rotation decides what to do with an operator's certificates at a given time: whether new ones are needed, and when to check
// again. It is pure: it creates no certificate, reads no clock and sends no request. Scenario files therefore cover years of
// rotation, and replicas whose clocks differ.
//
// The operator has its own certificate authority (CA), which signs the serving certificate that every replica uses. API servers trust
// the CAs in the bundles of the webhook configurations.
//
//	make       no usable certificate is stored: create a CA and a serving certificate
//	introduce  two thirds of the CA's life have passed: add a second CA to the bundles
//	publish    all bundles contain the second CA: start the time to settle
//	promote    the time to settle is over: sign a serving certificate with the second CA, delete the first one's key
//	renew      two thirds of the serving certificate's life have passed: sign another one
//	drop       an earlier CA has expired: remove it from the bundles
//
// Guarantees: a client that trusts the bundle of any moment trusts the serving certificate of that moment and the one before. A CA
// signs nothing before it has been in every bundle for a while, and it stays in them for as long as anything that it signed is valid.
// Replicas never undo each other's changes: each decision leads away from the state that it was made in. Hours without any replica do
// no harm, and after years without one all certificates are created again.
//
// Assumptions: clocks differ by less than Times.Skew. All API servers know a CA in a bundle within Times.Settle.
//
// Caveats: if the stored certificates are deleted or expire, requests fail until API servers know the new bundle.
package rotation
