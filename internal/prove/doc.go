// Package prove holds the parts of fault injection: the proxy between an operator and its API server, the
// log of requests, the plans of faults, the runner, and the oracles that judge a run.
//
// Its packages import the tools, lower layers and each other. The public package prove puts them together.
package prove
