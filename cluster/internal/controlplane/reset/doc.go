// Package reset restores the first state of a running cluster: the state in which the controllers settle after the start. It
// writes directly to etcd, bypassing finalizers and admission, and restarts nothing. The API server and the controllers see
// ordinary deletions.
package reset
