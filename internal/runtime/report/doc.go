// Package report reports the outcome of a reconcile to people: Kubernetes events, log lines, metrics, the record for
// `operon explain`, and the preview of a dry run. The status of the object is written by package reconcile: its conditions
// in the last step.
package report
