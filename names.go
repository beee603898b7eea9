package operon

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// suffix is how many characters of a hash end a name that was shortened.
const suffix = 8

// Name joins parts with hyphens to the name of a child, and shortens it where it is longer
// than limit: then its end is a hash of all parts, so that it stays the same for the same
// parts and differs for others. Most names may have 253 characters, but labels' values and
// the names of Services have 63, of StatefulSets and CronJobs 52, as names of others are
// made of them. A limit below 10 is taken as 10.
func Name(limit int, parts ...string) string {
	name := strings.Join(parts, "-")
	limit = max(limit, suffix+2)
	if len(name) <= limit {
		return name
	}
	// Parts are told apart in what is hashed: a-b and c are not a and b-c.
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	kept := strings.TrimRight(strings.ToValidUTF8(name[:limit-suffix-1], ""), "-.")
	return kept + "-" + hex.EncodeToString(sum[:])[:suffix]
}
