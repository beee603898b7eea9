// Package operon is what an operator's author imports: declare the children that
// should exist for a custom resource, and the framework plans, applies, prunes,
// waits, observes and reports.
package operon
