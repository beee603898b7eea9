package chart

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/yaml"
)

const (
	// record is the file that tells what was generated, so that an edit is known from it.
	record = ".generated.yaml"
	// conflicts is where a generated file goes that could not take the place of an edited one.
	conflicts = ".conflicts"
)

// byKey are the files that are merged key by key.
var byKey = []string{"Chart.yaml", "values.yaml"}

// Merged is a chart generated again, with all edits in it.
type Merged struct {
	// Write are the files that are to hold something, and Remove those that are to go. All others stay.
	Write  map[string][]byte
	Remove []string
	// Notes say where an edit and the operator want different things, a sentence each.
	Notes []string
}

// generated is the record of what an earlier run wrote.
type generated struct {
	// Files are the files with their sums.
	Files map[string]string `json:"files"`
	// Merged are the files that are merged by key, as they were generated.
	Merged map[string]string `json:"merged"`
}

// Merge brings a chart up to date. There are the files of the chart's directory as they are, none for a
// new chart; now are those of [Files].
//
// Guarantees: a file that nobody touched becomes what is generated, or goes. A file that somebody edited or
// removed stays so; if what is generated for it has changed too, the new one is put into .conflicts, and
// that is noted for as long as it is there. In Chart.yaml and values.yaml that holds for each key, and comments and order
// stay. Without a record, as in a chart that was written by hand, every file counts as edited. The same input
// gives the same chart, and merged a second time nothing changes.
//
// It fails where the record or a file that is merged by key cannot be read.
func Merge(there, now map[string][]byte) (*Merged, error) {
	earlier := generated{}
	if err := yaml.UnmarshalStrict(there[record], &earlier); err != nil {
		return nil, fmt.Errorf("%s: %w; it tells which files were edited: take it from version control, or remove it, and all files count as edited", record, err)
	}
	m := &merge{there: there, now: now, earlier: earlier, next: generated{Files: map[string]string{}, Merged: map[string]string{}}}
	m.Write = map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if err := m.file(name); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(earlier.Files)) {
		m.gone(name)
	}
	m.remind()
	written, err := yaml.Marshal(m.next)
	m.Write[record] = append([]byte("# What operon generate --helm wrote, so that it knows your edits. Commit it with the chart.\n"), written...)
	return &m.Merged, err
}

// merge is one merge under way.
type merge struct {
	Merged
	there, now map[string][]byte
	earlier    generated
	next       generated
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

func (m *merge) note(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

// file decides about one file that is generated.
func (m *merge) file(name string) error {
	wanted, now := m.now[name], sum(m.now[name])
	m.next.Files[name] = now
	if slices.Contains(byKey, name) {
		m.next.Merged[name] = string(wanted)
	}
	before, known := m.earlier.Files[name]
	held, there := m.there[name]
	switch {
	case !there && known:
		if before != now {
			m.note("%s was removed, and stays so, although what is generated for it has changed", name)
		}
	case !there, sum(held) == before, bytes.Equal(held, wanted):
		m.Write[name] = wanted
	case slices.Contains(byKey, name):
		return m.mergeKeys(name, held)
	case before != now:
		m.Write[path.Join(conflicts, name)] = wanted
	}
	return nil
}

func (m *merge) mergeKeys(name string, held []byte) error {
	content, notes, err := mergeValues([]byte(m.earlier.Merged[name]), held, m.now[name])
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, note := range notes {
		m.note("%s: %s", name, note)
	}
	m.Write[name] = content
	return nil
}

// gone decides about a file that is not generated any more.
func (m *merge) gone(name string) {
	held, there := m.there[name]
	if _, still := m.now[name]; still || !there {
		return
	}
	if sum(held) == m.earlier.Files[name] {
		m.Remove = append(m.Remove, name)
		return
	}
	m.note("%s is not generated any more, and stays because it was edited: remove it when it is of no use", name)
}

// remind notes the conflicts that nobody has looked at.
func (m *merge) remind() {
	open := map[string]bool{}
	for name := range m.there {
		open[name] = true
	}
	for name := range m.Write {
		open[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if edited, is := cutFolder(name); is {
			m.note("%s was edited, and what is generated for it has changed: take what you need from %s, and remove that", edited, name)
		}
	}
}

// cutFolder returns the file that a conflict is about.
func cutFolder(name string) (string, bool) {
	if len(name) <= len(conflicts)+1 || name[:len(conflicts)+1] != conflicts+"/" {
		return "", false
	}
	return name[len(conflicts)+1:], true
}
