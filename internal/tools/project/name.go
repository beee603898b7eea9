package project

import (
	"fmt"
	"path"
	"strings"

	"golang.org/x/mod/module"
)

// longestName leaves room for suffixes in labels and object names.
const longestName = 40

// readName returns the name in kubebuilder's PROJECT file, or else the last element of the module's path, in the form of a
// DNS label.
func readName(dir string, layout *Layout, modulePath string) (string, error) {
	written := ""
	if layout != nil {
		written = layout.Name
	}
	if written == "" {
		prefix, _, _ := module.SplitPathVersion(modulePath)
		written = path.Base(prefix)
	}
	name := Label(written)
	if name == "" {
		return "", fmt.Errorf("the name %q in %s has no letter or digit to name the operator by", written, dir)
	}
	return name, nil
}

// Label converts any name to a DNS label.
func Label(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	if len(clean) > longestName {
		clean = clean[:longestName]
	}
	return strings.Trim(clean, "-")
}
