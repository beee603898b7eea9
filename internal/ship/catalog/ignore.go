package catalog

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ignoreFile lists files that are not part of a catalog, in the format of .gitignore, for its directory and those below.
const ignoreFile = ".indexignore"

// ignoreRule is a line of a file .indexignore.
type ignoreRule struct {
	// base is the directory of the file.
	base             string
	negated, dirOnly bool
	// matches the path relative to base.
	matches *regexp.Regexp
}

// ignoreRules are the rules for the entries of a directory. The last one that matches decides.
type ignoreRules []ignoreRule

func (all ignoreRules) ignore(name string, isDir bool) bool {
	for _, rule := range slices.Backward(all) {
		if rule.dirOnly && !isDir {
			continue
		}
		below := name
		if rule.base != "." {
			below = strings.TrimPrefix(name, rule.base+"/")
		}
		if rule.matches.MatchString(below) {
			return !rule.negated
		}
	}
	return false
}

// readIgnored returns the rules for the entries of a directory: those of the directories above, and its own.
func readIgnored(files fs.FS, dir string, above ignoreRules) (ignoreRules, error) {
	content, err := fs.ReadFile(files, path.Join(dir, ignoreFile))
	if errors.Is(err, fs.ErrNotExist) {
		return above, nil
	}
	if err != nil {
		return nil, err
	}
	all := slices.Clone(above)
	for line := range strings.Lines(string(content)) {
		if rule, ok := parseIgnored(dir, strings.TrimRight(line, "\r\n")); ok {
			all = append(all, rule)
		}
	}
	return all, nil
}

// parseIgnored parses a line. It returns false for comments, empty lines, and patterns that are not valid, which match nothing.
func parseIgnored(base, line string) (rule ignoreRule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return rule, false
	}
	trimmed := strings.TrimRight(line, " ")
	if strings.HasSuffix(trimmed, `\`) && len(trimmed) < len(line) {
		trimmed += " "
	}
	pattern, negated := strings.CutPrefix(trimmed, "!")
	pattern, dirOnly := strings.CutSuffix(pattern, "/")
	if pattern == "" {
		return rule, false
	}
	anchored := strings.Contains(pattern, "/")
	expression := globExpression(strings.TrimPrefix(pattern, "/"))
	if !anchored {
		expression = "(?:.*/)?" + expression
	}
	matches, err := regexp.Compile("^" + expression + "$")
	return ignoreRule{base, negated, dirOnly, matches}, err == nil
}

// globExpression returns the regular expression of a pattern.
func globExpression(pattern string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		atName := i == 0 || pattern[i-1] == '/'
		switch {
		case atName && strings.HasPrefix(rest, "**/"):
			out.WriteString("(?:.*/)?")
			i += 3
		case atName && rest == "**":
			out.WriteString(".+")
			i += 2
		case rest[0] == '*':
			out.WriteString("[^/]*")
			i += len(rest) - len(strings.TrimLeft(rest, "*"))
		case rest[0] == '?':
			out.WriteString("[^/]")
			i++
		case rest[0] == '[':
			class, length := classExpression(rest)
			out.WriteString(class)
			i += length
		case rest[0] == '\\' && len(rest) > 1:
			out.WriteString(regexp.QuoteMeta(rest[1:2]))
			i += 2
		default:
			out.WriteString(regexp.QuoteMeta(rest[:1]))
			i++
		}
	}
	return out.String()
}

// classExpression returns the expression of a class of characters, such as [a-z] or [!a], and its length in the pattern.
func classExpression(pattern string) (expression string, length int) {
	end := strings.IndexByte(pattern[1:], ']')
	if end < 1 {
		return `\[`, 1
	}
	inside := strings.ReplaceAll(pattern[1:end+1], "[", `\[`)
	if rest, negated := strings.CutPrefix(inside, "!"); negated {
		inside = "^/" + rest
	}
	return "[" + inside + "]", end + 2
}
