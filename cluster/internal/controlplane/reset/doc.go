// Package reset restores the initial state of a running cluster: the state in which the controllers settle after the start. It writes to
// etcd directly, past finalizers and admission, and restarts nothing. The API server and the controllers see ordinary deletions.
package reset
