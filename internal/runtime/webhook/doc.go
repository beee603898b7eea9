// Package webhook serves the admission and conversion webhooks of an operator: defaults, validation, validation of deletions, and
// conversion between versions. It creates the serving certificates and registers the webhooks.
//
// A Server has hooks, created from an author's interfaces by [Defaulting], [Validating] and [ValidatingDeletion], and policies, which
// API servers evaluate themselves. One loop, keep, moves everything toward the desired state, and runs when something changes:
//
//	look       read the webhook configurations, then the stored certificates
//	decide     by package rotation; one replica executes and stores the decision for all
//	serve      the stored serving certificate
//	register   configurations, CRDs and policies, with the CA bundle
//
// Guarantees: a webhook request is answered without a request to the API server. All replicas serve, and one stores for all;
// certificates and bundles are correct without a leader. A new serving certificate is used without a restart. Changes of other clients
// to a configuration are reverted. The API server refuses a write that is based on a stale state, and the decision is made again:
// configurations are read before the certificates, and both are written with their resource version. Keys never appear in logs.
//
// Assumptions: the Service selects all replicas and no other pods. If certificates come from a directory, they are renewed there.
//
// Caveats: if the stored certificates are deleted, requests fail for about a second, until the API servers know the new bundle. A
// client that can read the Secret can answer in place of the operator, except for no other name: the CA has name constraints.
package webhook
