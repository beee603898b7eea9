// Package steps has steps that many actions take, ready for durable.Do: run a Job or a command in a
// pod, scale a workload, wait for a condition, keep a file in a folder or an object store. Each heeds the key of
// its step, so that a crash in it leads neither to two nor to something left behind.
//
//	if _, err := durable.Do(ctx, act.Run, task.Job("migrate", migration)); err != nil {
//		return err
//	}
//
// They are structs whose fields a caller may still change, such as Timeout.
//
// It is a package of its own because streams and expressions bring libraries along that an operator
// without them does not need.
package steps
