package build

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// timezonesFile is the name of the file that timezones adds to the main package.
const timezonesFile = "zz_timezones_of_the_image.go"

// timezonesSource imports package time, too, because the data cannot be linked without it.
const timezonesSource = `package main

import (
	_ "time"
	_ "time/tzdata"
)
`

// timezones returns the flags of the go command that add time zone data to the program, because an image does not contain it: the main package
// gets another file, which imports the data. The build tag timetzdata would change package time, and almost all packages that
// were compiled before would be compiled again. It is the result only where another file is impossible: in the module cache, where the go
// command accepts none, in a main package that embeds all its files, and in one that was not found.
func (t toolchain) timezones(main pkg, moduleCache, scratch string) ([]string, error) {
	embeds := func(pattern string) bool {
		match, err := path.Match(strings.TrimPrefix(pattern, "all:"), timezonesFile)
		return match || err != nil
	}
	if main.Dir == "" || inside(moduleCache, main.Dir) || slices.ContainsFunc(main.Embeds, embeds) {
		return []string{"-tags", "timetzdata," + t.tags}, nil
	}
	source, overlay := filepath.Join(scratch, timezonesFile), filepath.Join(scratch, "overlay.json")
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(main.Dir, timezonesFile): source}})
	if err != nil {
		return nil, err
	}
	err = errors.Join(os.WriteFile(source, []byte(timezonesSource), 0o600), os.WriteFile(overlay, content, 0o600))
	return []string{"-overlay", overlay}, err
}
