// Package providers carries out the decisions of package external: it calls providers, keeps in mind what was seen
// for as long as that is recent, and is considerate of systems that are slow or away.
//
// A reconcile's work goes in rounds. In each, every resource that is not settled says what comes next
// for it: calls are made a few at a time, and what is to be recorded is recorded for all resources
// in one write. So ten machines are marked by one write and their ids noted by another one.
package providers
