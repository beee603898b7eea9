// Package operatorversion decides what the version of an operator means for an object that another version reconciled
// before: whether the object has to be upgraded, or whether it belongs to a newer operator and should
// not be changed.
//
// Versions are semantic versions, with or without a leading v. It is pure: nothing is read or written here.
package operatorversion

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// Verdict is the relation of an object to an operator version.
type Verdict string

// The verdicts.
const (
	// Fresh: no operator reconciled the object before.
	Fresh Verdict = "fresh"
	// Current: this version reconciled it, or a newer one without upgrades.
	Current Verdict = "current"
	// Older: an older version reconciled it, or one that did not record its version.
	Older Verdict = "older"
	// Newer: a newer version that upgrades objects reconciled it.
	Newer Verdict = "newer"
	// Unreadable: the recorded version is not valid.
	Unreadable Verdict = "unreadable"
)

// Record is the data in an object about the operator that reconciled it last.
type Record struct {
	// Version of that operator. It is empty if none was recorded.
	Version string
	// Upgrades reports whether that version upgrades objects.
	Upgrades bool
	// Seen reports whether an operator reconciled the object at all.
	Seen bool
}

// Judge returns the relation of an object to an operator version.
func Judge(record Record, own string) Verdict {
	switch {
	case record.Version == "" && !record.Seen:
		return Fresh
	case record.Version == "":
		return Older
	case Check(record.Version) != nil:
		return Unreadable
	case Before(record.Version, own):
		return Older
	case Before(own, record.Version) && record.Upgrades:
		return Newer
	}
	return Current
}

// Before reports whether a version is older than another one. An empty version is older than any.
func Before(version, other string) bool {
	return semver.Compare(canonical(version), canonical(other)) < 0
}

// Check returns an error if a version is invalid.
func Check(version string) error {
	if !semver.IsValid(canonical(version)) {
		return fmt.Errorf("%q is not a semantic version (example: 1.4.0 or v1.4.0-rc.1)", version)
	}
	return nil
}

func canonical(version string) string {
	if version == "" || strings.HasPrefix(version, "v") {
		return version
	}
	return "v" + version
}
