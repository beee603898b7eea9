// Package prove contains the packages for fault injection: the proxy between an operator and its API server, the log of requests, the test
// cases with their faults, the runner, and the oracles that check a run.
//
// They import the tools, lower layers and each other. The public package prove combines them.
package prove
