package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/catalog"
)

// index is the part of a cache that is kept in memory.
type index struct {
	// Digest is the digest of the catalog's files, and Modified the time when the last of them changed.
	Digest   string    `json:"digest"`
	Modified time.Time `json:"modified"`
	// Size is the size of the file with JSON lines.
	Size int64 `json:"size"`
	// Packages are sorted by name.
	Packages []packageEntry `json:"packages"`
	Bundles  int            `json:"bundles"`
	// Keys is the table of keys, see keyTable.
	Keys span `json:"keys"`
	// Problems are of the catalog and of packages that are left out.
	Problems []catalog.Problem `json:"problems,omitempty"`
	LeftOut  []string          `json:"leftOut,omitempty"`
}

// packageEntry is where the record and the JSON lines of a package are. Objects that belong to no package that is defined are an entry without
// a record.
type packageEntry struct {
	Name   string `json:"n,omitempty"`
	Record *span  `json:"r,omitempty"`
	Lines  span   `json:"l"`
	// Own is the line of the package itself, by which clients list packages.
	Own *meta `json:"o,omitempty"`
	// Metas are the objects of an entry without a record.
	Metas []meta `json:"m,omitempty"`
}

// record is what is known about a package.
type record struct {
	Name           string          `json:"name"`
	DefaultChannel string          `json:"defaultChannel"`
	Deprecated     string          `json:"deprecated,omitempty"`
	Channels       []channelRecord `json:"channels"` // sorted by name
	Bundles        []bundleRecord  `json:"bundles"`
	Metas          []meta          `json:"metas"`
}

type channelRecord struct {
	Name       string          `json:"name"`
	Head       string          `json:"head"`
	Deprecated string          `json:"deprecated,omitempty"`
	Entries    []catalog.Entry `json:"entries"`
}

// bundleRecord is where the message of a bundle is: the fields that lists need, and the others.
type bundleRecord struct {
	Name       string                    `json:"name"`
	Deprecated string                    `json:"deprecated,omitempty"`
	Provides   []schema.GroupVersionKind `json:"provides,omitempty"`
	Short      span                      `json:"short"`
	Rest       span                      `json:"rest"`
}

// meta is where the JSON line of an object is.
type meta struct {
	Schema string `json:"s"`
	Name   string `json:"n,omitempty"`
	Line   span   `json:"l"`
}

func (r *record) channel(name string) *channelRecord {
	for i := range r.Channels {
		if r.Channels[i].Name == name {
			return &r.Channels[i]
		}
	}
	return nil
}

func (r *record) bundle(name string) *bundleRecord {
	for i := range r.Bundles {
		if r.Bundles[i].Name == name {
			return &r.Bundles[i]
		}
	}
	return nil
}

// The footer of a cache is where its index is.
const (
	magic      = "operon catalog cache 1\n"
	footerSize = 20 + len(magic)
)

func footer(s span) []byte {
	out := binary.BigEndian.AppendUint64(nil, uint64(s.At))
	out = binary.BigEndian.AppendUint64(out, uint64(s.Size))
	out = binary.BigEndian.AppendUint32(out, s.Sum)
	return append(out, magic...)
}

// readIndex reads the index of a cache of a size.
func readIndex(file io.ReaderAt, size int64) (*index, error) {
	end := make([]byte, footerSize)
	at := size - int64(footerSize)
	if at < 0 {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrCorrupt, size)
	}
	if _, err := file.ReadAt(end, at); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	s := span{int64(binary.BigEndian.Uint64(end)), int64(binary.BigEndian.Uint64(end[8:])), binary.BigEndian.Uint32(end[16:])}
	if string(end[20:]) != magic || s.At < 0 || s.Size < 0 || s.At > at || s.Size != at-s.At {
		return nil, fmt.Errorf("%w: it does not end with an index", ErrCorrupt)
	}
	content, err := s.load(file)
	if err != nil {
		return nil, err
	}
	made := &index{}
	if err := json.Unmarshal(content, made); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return made, nil
}

// keyTable finds the packages that may have an answer: a sorted list of hashes of keys, each with the position of a package. Different keys can
// have one hash, so the records decide.
type keyTable []byte

const keySize = 12

// Keys of packages.
func replacesKey(name string) uint64 { return hashed("replaces", name) }
func providesKey(k schema.GroupVersionKind) uint64 {
	return hashed("provides", k.Group, k.Version, k.Kind)
}

func hashed(parts ...string) uint64 {
	sum := fnv.New64a()
	for _, one := range parts {
		_, _ = sum.Write(append([]byte(one), 0)) // never fails
	}
	return sum.Sum64()
}

type key struct {
	hash uint64
	of   uint32
}

func newKeyTable(keys []key) keyTable {
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.hash < b.hash || a.hash == b.hash && a.of < b.of:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	var table keyTable
	for _, one := range slices.Compact(keys) {
		table = binary.BigEndian.AppendUint64(table, one.hash)
		table = binary.BigEndian.AppendUint32(table, one.of)
	}
	return table
}

// find returns the positions of packages with a key, in ascending order.
func (t keyTable) find(hash uint64) []int {
	at := func(i int) uint64 { return binary.BigEndian.Uint64(t[i*keySize:]) }
	n := len(t) / keySize
	var found []int
	for i := sort.Search(n, func(i int) bool { return at(i) >= hash }); i < n && at(i) == hash; i++ {
		found = append(found, int(binary.BigEndian.Uint32(t[i*keySize+8:])))
	}
	return found
}
