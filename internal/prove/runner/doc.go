// Package runner executes one test case of `operon prove`: with its own namespace, proxy and operator, beside any number of others on the
// same cluster.
//
//	stage := &runner.Stage{…}
//	trace, err := stage.Carry(ctx, plan, runner.Pace{})
//
// A step of the workload ends when the operator is silent and nothing changes any more. An operator that is killed or exits is started
// again, as in a Deployment.
//
//	stage.go      the cluster, and what all worlds of a session share
//	world.go      the life of a world
//	steps.go      the execution of a step
//	silence.go    the end of a step
//	instance.go   the life of the operator: started, killed, started again
//	process.go    operators that are programs
//	function.go   operators that are functions of a test
//	access.go     the operator's identity at the API server
package runner
