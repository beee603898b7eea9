// Package runner executes one test case of `operon prove`: in a namespace of its own, with a proxy of its own, and
// with an operator of its own, beside any number of others on the same cluster.
//
//	stage := &world.Stage{Config: config, Witness: witness, Operator: world.Process{…}}
//	trace, err := stage.Carry(ctx, plan, world.Pace{})
//
// A step of the workload ends when the operator is silent and nothing changes any more. An operator
// that is killed, or ends by itself, is started again, as a Deployment would do it.
//
//	stage.go      the cluster, and what all worlds of a session share
//	world.go      a world's life
//	steps.go      what a step does
//	silence.go    when a step is over
//	instance.go   the operator's life: started, killed, started again
//	process.go    operators that are programs
//	function.go   operators that are functions of a test
//	access.go     whom the operator is to the API server
package runner
