package deploy

import "fmt"

// LeftError is an error after which a user has to know what is left in the cluster, also if they have caused the error by an interruption.
type LeftError struct {
	Err error
	// Left is what is left, and what to do about it, in a sentence.
	Left string
}

func (e *LeftError) Error() string { return e.Err.Error() + "\n" + e.Left }

func (e *LeftError) Unwrap() error { return e.Err }

// leaving adds what is left to an error.
func leaving(err error, format string, args ...any) error {
	return &LeftError{Err: err, Left: fmt.Sprintf(format, args...)}
}
