// Package action runs the Actions of actions.operon.dev: operations such as a backup that an operator's composers offer on their
// objects. It runs one Action at a time on each object, in steps that each run once. It also creates Actions for ActionSchedules. Both
// kinds have composers that are managed like those of an author. The status of an Action holds the journal of package durable.
//
// operon.Manage finds the actions of a composer by its method Actions, and then serves these two kinds.
package action
