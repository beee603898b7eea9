package external

import "errors"

// Class is what an error of a provider means for what comes next. The set is closed.
type Class int

const (
	// Away: the system could not be reached, or did not answer as it should. Whether a call had an
	// effect is not known. It is the class of every error that nothing else is said of.
	Away Class = iota
	// Denied: the credentials are not, or no longer, good. The call had no effect.
	Denied
	// Refused: the system does not want what is declared. The call had no effect.
	Refused
	// Garbage: the answer makes no sense.
	Garbage
)

// String is the class in one word.
func (c Class) String() string { return [...]string{"away", "denied", "refused", "garbage"}[c] }

// classError is an error of which a provider says the class.
type classError struct {
	class Class
	error
}

func (e *classError) Unwrap() error { return e.error }

// AsDenied says that credentials were not accepted. The system is asked again when the credentials
// change, and now and then.
func AsDenied(err error) error { return &classError{Denied, err} }

// AsRefused says that the system does not want what is declared: the spec has to change.
func AsRefused(err error) error { return &classError{Refused, err} }

// AsGarbage says that an answer makes no sense, which concerns this resource alone.
func AsGarbage(err error) error { return &classError{Garbage, err} }

// ClassOf tells the class of an error.
func ClassOf(err error) Class {
	var said *classError
	if errors.As(err, &said) {
		return said.class
	}
	return Away
}

// CheckID tells whether an id can be recorded.
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
