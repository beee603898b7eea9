// Package steps has ready-made steps for durable.Do: run a Job or a command in a pod, scale a workload, wait for a
// condition, store a file in a directory or an object store. Each uses the key of its step, so a crash
// in the middle neither creates anything twice nor leaves anything behind.
//
//	if _, err := durable.Do(ctx, act.Run, steps.Job("migrate", migration)); err != nil {
//		return err
//	}
//
// The functions return a durable.Step, whose fields you can still change, such as Timeout; [Scale] takes its
// steps itself.
//
// This is a separate package because streams and expressions bring dependencies that an operator without
// them does not need.
package steps
