// Package reset takes a running cluster back to its first state: the one in which the controllers settle after the
// start. It writes to etcd, below finalizers and admission, and restarts nothing. API server and controllers see
// ordinary deletions.
package reset
