// Package operatorversion decides what the version of an operator means for an object that another version reconciled
// before: whether there is something to be upgraded, or whether the object is that of a newer operator and better
// left alone.
//
// Versions are semantic ones, with or without a v in front. It is pure: nothing is read or written here.
package operatorversion

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// Verdict is what an object is to an operator.
type Verdict string

// The verdicts.
const (
	// Fresh: nobody took care of the object before.
	Fresh Verdict = "fresh"
	// Current: this version did, or one without anything to upgrade that is newer.
	Current Verdict = "current"
	// Older: an older version did, or one that did not say which it was.
	Older Verdict = "older"
	// Newer: a newer version did, which upgrades objects.
	Newer Verdict = "newer"
	// Unreadable: what is recorded is no version.
	Unreadable Verdict = "unreadable"
)

// Record is what an object tells of the operator that took care of it last.
type Record struct {
	// Version of that operator; empty where it told none.
	Version string
	// Upgrades reports whether that version upgrades objects.
	Upgrades bool
	// Seen reports whether an operator took care of the object at all.
	Seen bool
}

// Judge tells what an object is to an operator of a version.
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

// Before reports whether a version is older than another one. None at all is older than any.
func Before(version, other string) bool {
	return semver.Compare(canonical(version), canonical(other)) < 0
}

// Check tells what is wrong with a version.
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
