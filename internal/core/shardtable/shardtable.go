// Package shardtable decides which of several replicas reconciles which objects. It is pure: no client, no clock, no
// goroutine.
//
// Objects are spread over 256 buckets by a hash of their uid, which is the API server's own, and
// neighboring buckets make a slot. A [Table] says who holds each slot. [Decide] is what one
// member does next, by the table and by what it knows of the others: whoever decides alike on
// what others see too needs nobody to tell it.
package shardtable

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Buckets is into how many parts the space of hashes is cut, however many slots there are, so
// that what is written on objects outlives a change of that number.
const Buckets = 256

// Most is the largest number of slots.
const Most = 64

// Bucket is the part of the space of hashes that an object falls into: the first byte of the
// 64-bit FNV-1a of its uid, by which the API server's shardRange selects too.
func Bucket(uid types.UID) int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(uid)) // it never fails
	return int(hash.Sum64() >> 56)
}

// BucketName is a bucket as it is written in a label.
func BucketName(bucket int) string { return fmt.Sprintf("%02x", bucket) }

// Table says who holds each slot; nobody is "".
type Table struct{ Holders []string }

// New returns a table of slots that nobody holds.
func New(slots int) Table { return Table{Holders: make([]string, slots)} }

// Slots is how many there are.
func (t Table) Slots() int { return len(t.Holders) }

// Slot is the slot of a bucket.
func (t Table) Slot(bucket int) int {
	slot := bucket * t.Slots() / Buckets
	if bucket >= t.first(slot+1) {
		return slot + 1
	}
	return slot
}

// SlotOf is the slot of an object.
func (t Table) SlotOf(uid types.UID) int { return t.Slot(Bucket(uid)) }

// first is the first bucket of a slot.
func (t Table) first(slot int) int { return slot * Buckets / t.Slots() }

// Range is the part of the space of hashes that belongs to a slot, as the API server's selection
// of a shard.
func (t Table) Range(slot int) string {
	return fmt.Sprintf("shardRange(object.metadata.uid, '%s', '%s')", edge(t.first(slot)), edge(t.first(slot+1)))
}

// edge is where a bucket begins.
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

// Unlabelled selects what has no label of a bucket.
func Unlabelled(key string) string { return key + " notin (" + names(0, Buckets) + ")" }

func names(from, to int) string {
	var names []string
	for bucket := from; bucket < to; bucket++ {
		names = append(names, BucketName(bucket))
	}
	return strings.Join(names, ",")
}

// Held are the slots that a member holds.
func (t Table) Held(member string) []int {
	var slots []int
	for slot, holder := range t.Holders {
		if holder == member {
			slots = append(slots, slot)
		}
	}
	return slots
}

// String is the table as text, which Parse reads: a line for each slot, its number and holder.
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

// Parse reads a table. What is none is an error, which says where.
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

// Valid tells what is wrong with a number of slots.
func Valid(slots int) error {
	if slots < 1 || slots > Most {
		return fmt.Errorf("%d shards: want 1 to %d", slots, Most)
	}
	return nil
}
