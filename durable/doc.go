// Package durable does work that takes several steps, each of them once, even if the operator crashes or is
// replaced in between. The work is plain Go: it takes one step after the other with [Do], and the result of
// each step is stored in the status of the object that the work is for. Write it as the RunWorkflow method of your
// composer (see operon.WorkflowRunner) or as an action (see operon.ActionHandler).
//
//	func (Databases) RunWorkflow(ctx context.Context, db *v1.Database, run *durable.Run) error {
//		dump, err := durable.Do(ctx, run, durable.Step[Dump]{
//			Name: "dump",
//			Do:   func(ctx context.Context, a *durable.Attempt) (Dump, error) { return dump(ctx, db, a.Key) },
//			Undo: func(ctx context.Context, a *durable.Attempt, _ Dump) error { return removeDump(ctx, a.Key) },
//		})
//		if err != nil {
//			return err
//		}
//		_, err = durable.Do(ctx, run, upload(dump))
//		return err
//	}
//
// The function is called again and again. A step that is done is not repeated: Do returns its result. If a step
// waits, or failed and will be retried, Do returns an error that the function must return unchanged; no
// worker is blocked in the meantime. If a step fails for good, the function returns another error, or the run is
// canceled, the steps that were done are undone, the last one first.
//
// # Guarantees
//
//   - An attempt is recorded before it begins, and only if no one else has written since. If two
//     operators overlap, one of them begins it.
//   - A step whose end is recorded is never repeated. A step that a crash interrupted is repeated with
//     the same Key, so it takes effect once if what it calls honors the Key.
//   - Failures and the time of the next attempt are recorded. A restart changes neither.
//   - An Undo or Finally that is due for a step that has begun runs before the object is deleted.
//   - If the code takes other steps than those that the run began with, nothing is guessed:
//     see [journal.ChangedError].
//
// # Assumptions
//
//   - The function takes the same steps for the same results. Outside of steps it has no side effects, does not
//     read the clock, and does not depend on the iteration order of a map.
//   - Undo and Finally may run when their step was done, half done or not done at all, and more than once.
//
// # Caveats
//
//   - The end of a step is written together with the beginning of the next one, to save a write. A crash
//     in between repeats the step, with the same Key.
//   - Results are stored as JSON in the object, where everyone who can read the object can read them. Keep
//     them short, and keep secrets out.
//   - A run takes one step at a time. A [Run] is not safe for concurrent use.
package durable
