package external

import "errors"

// Class is the class of a provider's error, which decides how to proceed. The set is closed.
type Class int

const (
	// Away: the system was unavailable, or did not respond as expected. It is unknown whether the call had an
	// effect. Errors without another class have this one.
	Away Class = iota
	// Denied: the credentials are invalid or have expired. The call had no effect.
	Denied
	// Refused: the system rejects what is declared. The call had no effect.
	Refused
	// Garbage: the response is malformed.
	Garbage
)

// String returns the class as one word.
func (c Class) String() string { return [...]string{"away", "denied", "refused", "garbage"}[c] }

// classError is an error with the class that a provider assigned.
type classError struct {
	class Class
	error
}

func (e *classError) Unwrap() error { return e.error }

// AsDenied marks an error as rejected credentials. The system is called again when the credentials change, and from time to
// time.
func AsDenied(err error) error { return &classError{Denied, err} }

// AsRefused marks an error as the rejection of a declared resource: the spec has to change.
func AsRefused(err error) error { return &classError{Refused, err} }

// AsGarbage marks an error as a malformed response, which concerns only this resource.
func AsGarbage(err error) error { return &classError{Garbage, err} }

// ClassOf returns the class of an error.
func ClassOf(err error) Class {
	var said *classError
	if errors.As(err, &said) {
		return said.class
	}
	return Away
}

// CheckID returns an error if an ID cannot be recorded.
func CheckID(id string) error {
	if id == "" {
		return AsGarbage(errors.New("the provider returned an empty id"))
	}
	if len(id) > maxID {
		return AsGarbage(errors.New("the provider returned an id of more than a kilobyte"))
	}
	return nil
}

const maxID = 1024
