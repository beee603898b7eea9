package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Settle is how long a definition must be unchanged before objects are written. By then each API server must know it: a
// server that does not would store the older version again. The clocks of API servers, which date changes, differ from the
// operator's by less than skew.
const (
	Settle = 5 * time.Second
	skew   = time.Hour
)

// Settled returns when each API server knows a definition that this process has seen unchanged since a time.
func Settled(changed, seen time.Time) time.Time {
	if seen.Sub(changed) >= skew {
		return seen
	}
	return seen.Add(Settle)
}

// Definition contains the data of a CustomResourceDefinition that matters for a migration.
type Definition struct {
	// Name of the definition, such as sites.example.com.
	Name string
	// Identity changes whenever the spec changes.
	Identity string
	// Storage is the version in which objects are stored when they are written.
	Storage string
	// Stored contains the versions in which objects may be stored.
	Stored []string
	// Converted means that a webhook converts between the versions.
	Converted bool
	// Changed is the time of the last change of the spec, as far as it is known.
	Changed time.Time
}

// Older returns the versions to remove from storedVersions.
func (d Definition) Older() []string {
	return slices.DeleteFunc(slices.Clone(d.Stored), func(version string) bool { return version == d.Storage })
}

// Mark is the progress of a migration: objects whose resource version is greater than At were written since the migration
// began.
type Mark struct {
	// Of is the identity of the definition.
	Of string
	// At is the resource version of the kind when the migration began.
	At uint64
}

func (m Mark) String() string { return fmt.Sprintf("%s@%d", m.Of, m.At) }

// parseMark parses the result of String. A text that it cannot parse results in an empty mark.
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

// Object contains the data of a stored object that matters for a migration.
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
	// Next is the token for the next page. It is empty at the end.
	Next string
	// Remaining is the number of objects in further pages.
	Remaining int64
}

// UnconvertedError reports that objects would lose fields if they were written.
type UnconvertedError struct{ Definition }

func (e *UnconvertedError) Error() string {
	return fmt.Sprintf("nothing converts %s from %s into %s, by the definition's spec.conversion, though their Go types differ: objects would lose what %s calls otherwise, and none is written; make the operator serve its webhooks (--webhook-bind-address, and in a cluster its Service), which sets that",
		e.Name, strings.Join(e.Older(), ", "), e.Storage, e.Storage)
}

// Count contains the numbers of handled objects.
type Count struct {
	// Rewritten is the number of objects that were written unchanged.
	Rewritten int
	// Meanwhile is the number of objects that were written or deleted since the migration began: by another client, or by
	// this operator before it was restarted.
	Meanwhile int
}

// StuckError reports objects that could not be written.
type StuckError struct {
	// Objects that could not be written, at most three of them.
	Objects []Object
	// All is the number of these objects.
	All int
	// Err is the error for the first one.
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
