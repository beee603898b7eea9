// Package projectfile reads operon.yaml, the optional file in a project's directory with flags that would otherwise be
// repeated in every command line: the image, the number of replicas, the namespace and so on. A key of the file is the name
// of a flag. A flag in the command line takes precedence over the file.
package projectfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"
)

// Name is the name of the file in a project's directory.
const Name = "operon.yaml"

// Push is the flag that the key registry sets: the image's name in the registry.
const Push = "push"

// Settings are the settings of a file. The zero value sets nothing.
type Settings struct {
	name   string
	values map[string]value
}

// value is the value of one key.
type value struct {
	line int
	// words are the elements of a list, KEY=VALUE for each entry of a mapping, or the one word of any other type.
	words []string
}

// Read reads the file of the project in dir. A project without a file has no settings.
func Read(dir string) (*Settings, error) {
	path := filepath.Join(dir, Name)
	content, err := os.ReadFile(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return &Settings{}, nil // the command itself reports that dir is not a directory
	}
	if !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, err
		}
		return Parse(path, content)
	}
	other := filepath.Join(dir, "operon.yml")
	if _, err := os.Stat(other); err == nil {
		return nil, fmt.Errorf("%s: rename this file to %s", other, Name)
	}
	return &Settings{}, nil
}

// Flag returns the value of a flag, and whether the file sets it.
func (s *Settings) Flag(name string) (string, bool) {
	set, ok := s.values[name]
	if !ok {
		return "", false
	}
	return joined(set.words), true
}

// Excluded lists, for each flag that a command takes from the file, the flags that replace it: if one of them is set,
// the file's value is not used.
type Excluded map[string][]string

// Fill sets the flags of a command that the command line does not set. Flags on which other flags depend come first, so that
// a value in the file can exclude another one.
func (s *Settings) Fill(set *pflag.FlagSet, flags Excluded) error {
	for _, name := range order {
		excluded, wanted := flags[name]
		found, ok := s.values[name]
		if !wanted || !ok || set.Changed(name) || slices.ContainsFunc(excluded, func(other string) bool { return given(set, other) }) {
			continue
		}
		if err := found.assign(set.Lookup(name).Value); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", s.name, found.line, name, err)
		}
	}
	return nil
}

// given reports whether a flag is in the command line, or has a value other than its default.
func given(set *pflag.FlagSet, name string) bool {
	flag := set.Lookup(name)
	return flag != nil && (flag.Changed || flag.Value.String() != flag.DefValue)
}

func (v value) assign(to pflag.Value) error {
	if list, ok := to.(pflag.SliceValue); ok {
		return list.Replace(v.words)
	}
	return to.Set(joined(v.words))
}

// order is the order in which flags are set.
var order = []string{Push, "image", "platform", "cluster", "main", "namespace", "replicas", "shards", "memory", "watch-namespaces", "pod-annotation", "arg"}

// at returns an error at a line of the file.
func (s *Settings) at(line int, format string, args ...any) error {
	return errors.New(s.name + ":" + strconv.Itoa(line) + ": " + fmt.Sprintf(format, args...))
}
