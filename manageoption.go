package operon

import (
	"fmt"
)

// ManageOption changes how Manage manages one kind.
type ManageOption func(*manageSettings)

// manageSettings are what the options of a Manage add up to.
type manageSettings struct {
	concurrency int
	applySets   bool
}

func (s *manageSettings) validate() error {
	if s.concurrency < 1 {
		return fmt.Errorf("Concurrency(%d): want 1 or more", s.concurrency)
	}
	return nil
}

// Concurrency is how many objects of the kind are reconciled at the same time, 1 or more.
// Default: 8, as a reconcile waits for the API server most of its time. The same object is
// never reconciled twice at once.
func Concurrency(n int) ManageOption {
	return func(s *manageSettings) { s.concurrency = n }
}

// ApplySets makes every object of the kind the parent of an ApplySet that kubectl
// understands, also where no child needs a finalizer. It costs one write for each object.
func ApplySets() ManageOption {
	return func(s *manageSettings) { s.applySets = true }
}
