// Package names joins the parts of names of objects, and shortens names that are too long: the end becomes a hash of all parts, so that names
// stay distinct, and equal parts always make the same name.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// suffix is how many characters of a hash end a name that was shortened.
const suffix = 8

// Join joins parts with hyphens. A name longer than limit is shortened and ends in a hash of all parts, so that it is the same for the same
// parts and differs for others. The smallest limit is 10.
func Join(limit int, parts ...string) string {
	name := strings.Join(parts, "-")
	limit = max(limit, suffix+2)
	if len(name) <= limit {
		return name
	}
	// The separator distinguishes the parts in the hash: a-b and c differ from a and b-c.
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	kept := strings.TrimRight(strings.ToValidUTF8(name[:limit-suffix-1], ""), "-.")
	return kept + "-" + hex.EncodeToString(sum[:])[:suffix]
}
