// Package webhook serves the admission and conversion webhooks of an operator: its defaults, whether it is valid,
// whether it may be deleted, and what it is in another version. It makes the certificates for that, and tells the API
// servers whom to ask.
//
// A Server is fed with hooks, made of an author's roles by [Defaulting], [Validating] and
// [ValidatingDeletion], and with policies, which API servers judge by themselves. One loop, keep,
// brings everything to where it has to be, and is woken by changes:
//
//	look       the configurations that there are, and then the certificates that are kept
//	decide     by package rotation; what it says is done and kept, by one replica for all
//	serve      the leaf that is kept
//	register   configurations, definitions and policies, with the bundle
//
// Guarantees: a request is answered without any request to the API server. All replicas serve, one
// keeps for all, and none has to lead for certificates or bundles to be right. A leaf is taken up without a
// restart. What somebody changes of a configuration is put back. A write that was decided on what has
// changed since is refused by the API server, and decided again: configurations are read before the
// certificates, and both are written by their version. Keys are in no log.
//
// Assumptions: the Service leads to all replicas and to nobody else. Certificates in a folder are
// renewed by whoever puts them there.
//
// Caveats: when the kept certificates are deleted, requests fail until the API servers know the
// new bundle, which takes about a second. Who may read the Secret can answer in the operator's
// place, and for no other name: its CA is limited to that.
package webhook
