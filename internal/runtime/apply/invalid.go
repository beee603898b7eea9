package apply

// InvalidError reports that a composed object is not a valid child. No event in the cluster can fix this.
type InvalidError struct{ Message string }

func (e *InvalidError) Error() string { return e.Message }
