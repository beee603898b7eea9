package check

import (
	"slices"

	"github.com/blang/semver/v4"

	"github.com/operon-framework/operon/internal/olm/resolve"
)

// path is the line of upgrades of a channel without errors, by the rules of the Operator Lifecycle Manager. The resolver has an
// implementation of its own, which is compared with this one.
type path struct {
	// line has the entries from the head down along replaces, without those that another entry skips.
	line     []resolve.Entry
	versions map[string]string
}

func pathOf(channel resolve.Channel, versions map[string]string) *path {
	p := &path{versions: versions}
	entries, older, skipped := map[string]resolve.Entry{}, map[string]bool{}, map[string]bool{}
	for _, one := range channel.Entries {
		entries[one.Name] = one
		older[one.Replaces] = true
		for _, name := range one.Skips {
			if name != one.Name {
				older[name], skipped[name] = true, true
			}
		}
	}
	for _, head := range channel.Entries {
		if older[head.Name] {
			continue
		}
		for at, ok := head, true; ok && len(p.line) <= len(entries); at, ok = entries[at.Replaces] {
			if !skipped[at.Name] {
				p.line = append(p.line, at)
			}
		}
		break
	}
	return p
}

func (p *path) head() string {
	if len(p.line) == 0 {
		return ""
	}
	return p.line[0].Name
}

// next returns the entry closest to the head that can be installed over another one, or an empty string.
func (p *path) next(from string) string {
	version, err := semver.Parse(p.versions[from])
	for _, one := range p.line {
		if one.Name == from {
			return ""
		}
		inRange, broken := semver.ParseRange(one.SkipRange)
		if one.Replaces == from || slices.Contains(one.Skips, from) || one.SkipRange != "" && broken == nil && err == nil && inRange(version) {
			return one.Name
		}
	}
	return ""
}
