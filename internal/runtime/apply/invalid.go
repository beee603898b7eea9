package apply

// InvalidError reports that what was composed is no child: nothing that happens in the cluster
// can mend it.
type InvalidError struct{ Message string }

func (e *InvalidError) Error() string { return e.Message }
