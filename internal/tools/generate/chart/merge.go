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
	// Record is the file in a chart's directory that lists the generated files, so that edits can be detected.
	Record = ".generated.yaml"
	// conflicts is the directory for generated files that could not replace an edited file.
	conflicts = ".conflicts"
)

// byKey lists the files that are merged key by key.
var byKey = []string{"Chart.yaml", "values.yaml"}

// Merged is a chart that was generated again and contains all edits.
type Merged struct {
	// Write holds the files to write, and Remove the files to delete. All others stay.
	Write  map[string][]byte
	Remove []string
	// Notes describe conflicts between an edit and the operator, in one sentence each.
	Notes []string
}

// generated is the record of the files that an earlier run wrote.
type generated struct {
	// Files holds the files and their checksums.
	Files map[string]string `json:"files"`
	// Merged holds the files that are merged by key, as they were generated.
	Merged map[string]string `json:"merged"`
}

// Merge updates a chart. The argument there holds the current files of the chart's directory, none for a new chart; now holds
// the files returned by [Files].
//
// Guarantees: an unedited file is replaced by the generated one, or deleted. A file that was edited or removed is not changed; if its
// generated content has changed, too, the new content is written to .conflicts, and this is noted as long as it exists. In Chart.yaml and
// values.yaml this applies to each key, and comments and order are retained. Without a record, as in a chart that was written manually,
// every file counts as edited. The same input results in the same chart, and a second merge changes nothing.
//
// It fails if the record or a file that is merged by key cannot be read.
func Merge(there, now map[string][]byte) (*Merged, error) {
	earlier := generated{}
	if err := yaml.UnmarshalStrict(there[Record], &earlier); err != nil {
		return nil, fmt.Errorf("%s: %w; it records which files were edited: restore it from version control, or remove it; then all files count as edited", Record, err)
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
	m.Write[Record] = append([]byte("# What operon generate --helm wrote, so that it knows your edits. Commit it with the chart.\n"), written...)
	return &m.Merged, err
}

// merge is the state of one merge.
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

// held returns the current content of a file with the line ends of generated files: a checkout on Windows can have others.
func (m *merge) held(name string) (content []byte, there bool) {
	content, there = m.there[name]
	return bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), there
}

// file merges one file that is generated.
func (m *merge) file(name string) error {
	wanted, now := m.now[name], sum(m.now[name])
	m.next.Files[name] = now
	if slices.Contains(byKey, name) {
		m.next.Merged[name] = string(wanted)
	}
	before, known := m.earlier.Files[name]
	held, there := m.held(name)
	switch {
	case !there && known:
		if before != now {
			m.note("%s was removed and is not written again, although its generated content has changed", name)
		}
	case !there, sum(held) == before, bytes.Equal(held, wanted):
		m.Write[name] = wanted
	case slices.Contains(byKey, name):
		return m.mergeKeys(name, m.there[name])
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

// gone handles a file that is no longer generated.
func (m *merge) gone(name string) {
	held, there := m.held(name)
	if _, still := m.now[name]; still || !there {
		return
	}
	if sum(held) == m.earlier.Files[name] {
		m.Remove = append(m.Remove, name)
		return
	}
	m.note("%s is no longer generated, and is kept because it was edited: remove it if you do not need it", name)
}

// remind adds notes about unresolved conflicts.
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
			if _, written := m.Write[name]; !written {
				m.Write[name] = m.there[name] // it stays a generated file as long as it exists
			}
			m.note("%s was edited, and its generated content has changed: merge what you need from %s, and remove that file", edited, name)
		}
	}
}

// cutFolder returns the path of the file that a conflict is about.
func cutFolder(name string) (string, bool) {
	if len(name) <= len(conflicts)+1 || name[:len(conflicts)+1] != conflicts+"/" {
		return "", false
	}
	return name[len(conflicts)+1:], true
}
