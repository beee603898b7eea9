// Package action runs the Actions of actions.operon.dev: what an operator's composers offer to do on
// their objects, such as a backup, one at a time on each object, in steps that are each done once. It
// also makes Actions by ActionSchedules. Both are composers, managed like an author's own: the journal
// of package durable is the Action's status.
//
// operon.Manage finds what a composer offers by its method Actions, and then serves these two kinds.
package action
