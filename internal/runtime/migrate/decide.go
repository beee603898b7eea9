package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Settle is how long a definition has to be as it is before objects are written: each API server
// has to know it by then, as one that does not would store the older version again.
const Settle = 5 * time.Second

// Definition is what matters of a CustomResourceDefinition.
type Definition struct {
	// Name of the definition, such as sites.example.com.
	Name string
	// Identity is another one whenever the spec is.
	Identity string
	// Storage is the version in which objects are stored when they are written.
	Storage string
	// Stored are the versions in which there may be objects.
	Stored []string
	// Converted: a webhook converts between the versions.
	Converted bool
	// Changed is when the spec was last changed, as far as that is known.
	Changed time.Time
}

// Older are the versions to be struck out.
func (d Definition) Older() []string {
	return slices.DeleteFunc(slices.Clone(d.Stored), func(version string) bool { return version == d.Storage })
}

// wait is how long the definition still has to settle. Clocks may differ.
func (d Definition) wait(now time.Time) time.Duration {
	return min(max(Settle-now.Sub(d.Changed), 0), Settle)
}

// Mark is how far a migration has come: objects whose resource version is greater than At were
// written since it began.
type Mark struct {
	// Of is the definition's identity.
	Of string
	// At is the resource version of the kind when the migration began.
	At uint64
}

func (m Mark) String() string { return fmt.Sprintf("%s@%d", m.Of, m.At) }

// parseMark reads what String writes. What it cannot read marks nothing.
func parseMark(text string) Mark {
	of, at, _ := strings.Cut(text, "@")
	number, err := strconv.ParseUint(at, 10, 64)
	if err != nil {
		return Mark{}
	}
	return Mark{Of: of, At: number}
}

// written reports whether an object was written since the migration began.
func (m Mark) written(resourceVersion string) bool {
	return m.At > 0 && resourceclient.Revision(resourceVersion) > m.At
}

// Object is what matters of an object that is stored.
type Object struct {
	Namespace, Name, UID, ResourceVersion string
}

func (o Object) String() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// Page is a part of the list of all objects.
type Page struct {
	Objects []Object
	// At is the resource version of the list.
	At string
	// Next gets the next page; empty at the end.
	Next string
	// Remaining is how many objects are in further pages.
	Remaining int64
}

// UnconvertedError reports that objects would lose fields if they were written.
type UnconvertedError struct{ Definition }

func (e *UnconvertedError) Error() string {
	return fmt.Sprintf("nothing converts %s from %s into %s, by the definition's spec.conversion, though their Go types differ: objects would lose what %s calls otherwise, and none is written; make the operator serve its webhooks (--webhook-bind-address, and in a cluster its Service), which sets that",
		e.Name, strings.Join(e.Older(), ", "), e.Storage, e.Storage)
}

// Count is what a migration did.
type Count struct {
	// Rewritten objects were written as they are.
	Rewritten int
	// Meanwhile are those that were written or deleted since the migration began: by somebody
	// else, or by this operator before it was started again.
	Meanwhile int
}

// StuckError tells of objects that could not be written.
type StuckError struct {
	// Objects that could not be written, at most three of them.
	Objects []Object
	// All is how many there are.
	All int
	// Err is the answer to the first.
	Err error
}

func (e *StuckError) Error() string {
	var some []string
	for _, object := range e.Objects {
		some = append(some, object.String())
	}
	return fmt.Sprintf("%d objects cannot be written (%s): %v", e.All, strings.Join(some, ", "), e.Err)
}

func (e *StuckError) Unwrap() error { return e.Err }

func (e *StuckError) add(object Object, err error) *StuckError {
	if e == nil {
		e = &StuckError{Err: err}
	}
	if e.All++; len(e.Objects) < 3 {
		e.Objects = append(e.Objects, object)
	}
	return e
}
