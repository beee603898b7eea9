// Package reset restores the initial state of a running cluster: the one in which the controllers settle after the
// start. It writes to etcd, below finalizers and admission, and restarts nothing. API server and controllers see
// ordinary deletions.
package reset
