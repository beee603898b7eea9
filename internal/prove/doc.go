// Package prove contains the parts of fault injection: the proxy between an operator and its API server, the log of requests, the test
// cases with their faults, the runner, and the oracles that check a run.
//
// Its packages import the tools, lower layers and each other. The public package prove combines them.
package prove
