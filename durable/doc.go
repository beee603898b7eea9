// Package durable does work that takes several steps, each of them once, whatever happens to the
// operator meanwhile. The work is plain Go: it takes one step after the other, and what each came to
// is written down in the status of the object that the work is for.
//
//	func (Databases) Work(ctx context.Context, db *v1.Database, run *durable.Run) error {
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
// The function is called again and again. A step that is done is not done again: Do returns what it
// came to. A step that waits, or failed and is to be tried later, ends the call with an error that
// the function returns as it is, and no worker is held. When a step fails for good, or the function
// returns another error, or the run is cancelled, what was done is undone, the last step first.
//
// # Guarantees
//
//   - An attempt is written down before it begins, on condition that nobody else wrote meanwhile: of
//     two operators that overlap, one begins it.
//   - A step whose end is written down is never done again. One that a crash ended is done again with
//     the same Key, so that it is done once where what it does heeds the Key.
//   - Failures, and when there is another attempt, are written down: a restart changes neither.
//   - What has an Undo or a Finally and was begun gets it, before the object goes.
//   - A step of other code than that which began the run is not guessed over: see journal.ChangedError.
//
// # Assumptions
//
//   - The function takes the same steps for the same results: it does nothing by itself that has
//     effects, asks no clock, and goes through no map in Go's order.
//   - Undo and Finally may run when their step was done, half done or not at all, and more than once.
//
// # Caveats
//
//   - The end of a step is written together with the beginning of the next one, which makes one write
//     of two. A crash in between does the step again, with the same Key.
//   - Results are stored as JSON in the object, where whoever may read the object reads them: no
//     secrets, and nothing long.
//   - A run takes one step at a time, and Run is not for several goroutines.
package durable
