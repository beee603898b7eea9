// Package shardtable decides which of several replicas reconciles which objects. It is pure: no client, no clock, no
// goroutine.
//
// Objects are spread over 256 buckets by a hash of their UID, the same hash as the API server uses, and neighboring
// buckets form a slot. A [Table] contains the member that holds each slot. [Decide] returns the next step of one
// member, from the table and from its knowledge of the others: members that make the same decision from the same state
// need no coordination.
package shardtable

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Buckets is the number of parts of the hash space, independent of the number of slots, so
// that the labels on objects stay valid when that number changes.
const Buckets = 256

// Most is the largest number of slots.
const Most = 64

// Bucket returns the part of the hash space that an object falls into: the first byte of the
// 64-bit FNV-1a hash of its UID, which the API server's shardRange uses too.
func Bucket(uid types.UID) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(uid)) // it never fails
	return int(hash.Sum64() >> 56)
}

// BucketName returns a bucket as it is written in a label.
func BucketName(bucket int) string { return fmt.Sprintf("%02x", bucket) }

// Table holds the holder of each slot; "" means no holder.
type Table struct{ Holders []string }

// New returns a table of slots without holders.
func New(slots int) Table { return Table{Holders: make([]string, slots)} }

// Slots returns the number of slots.
func (t Table) Slots() int { return len(t.Holders) }

// Slot returns the slot of a bucket.
func (t Table) Slot(bucket int) int {
	slot := bucket * t.Slots() / Buckets
	if bucket >= t.first(slot+1) {
		return slot + 1
	}
	return slot
}

// SlotOf returns the slot of an object.
func (t Table) SlotOf(uid types.UID) int { return t.Slot(Bucket(uid)) }

// first returns the first bucket of a slot.
func (t Table) first(slot int) int { return slot * Buckets / t.Slots() }

// Range returns the part of the hash space that belongs to a slot, as a shard selector of the API
// server.
func (t Table) Range(slot int) string {
	return fmt.Sprintf("shardRange(object.metadata.uid, '%s', '%s')", edge(t.first(slot)), edge(t.first(slot+1)))
}

// edge returns where a bucket begins.
func edge(bucket int) string {
	if bucket == Buckets {
		return "0x10000000000000000"
	}
	return fmt.Sprintf("0x%02x00000000000000", bucket)
}

// Labelled selects the buckets of a slot by the label key.
func (t Table) Labelled(key string, slot int) string {
	return key + " in (" + names(t.first(slot), t.first(slot+1)) + ")"
}

// Unlabelled selects the objects without a bucket label.
func Unlabelled(key string) string { return key + " notin (" + names(0, Buckets) + ")" }

func names(from, to int) string {
	var names []string
	for bucket := from; bucket < to; bucket++ {
		names = append(names, BucketName(bucket))
	}
	return strings.Join(names, ",")
}

// Held returns the slots that a member holds.
func (t Table) Held(member string) []int {
	var slots []int
	for slot, holder := range t.Holders {
		if holder == member {
			slots = append(slots, slot)
		}
	}
	return slots
}

// String returns the table as text, which Parse reads: a line for each slot, with its number and holder.
func (t Table) String() string {
	var text strings.Builder
	for slot, holder := range t.Holders {
		if holder == "" {
			holder = "-"
		}
		fmt.Fprintf(&text, "%d %s\n", slot, holder)
	}
	return text.String()
}

// Parse reads a table. Invalid text is an error that names the position.
func Parse(text string) (Table, error) {
	var t Table
	for line := range strings.Lines(text) {
		number, holder, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if slot, err := strconv.Atoi(number); err != nil || slot != t.Slots() || !found || holder == "" || strings.ContainsAny(holder, " \t\r") {
			return Table{}, fmt.Errorf("line %d is %q, want %d and a holder", t.Slots()+1, strings.TrimSpace(line), t.Slots())
		}
		if holder == "-" {
			holder = ""
		}
		t.Holders = append(t.Holders, holder)
	}
	return t, Valid(t.Slots())
}

// Valid returns an error if a number of slots is invalid.
func Valid(slots int) error {
	if slots < 1 || slots > Most {
		return fmt.Errorf("%d shards: want 1 to %d", slots, Most)
	}
	return nil
}
