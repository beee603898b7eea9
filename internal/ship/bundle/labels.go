package bundle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// testsDir has the configuration of the scorecard of Operator SDK.
const testsDir = "tests/scorecard"

// pair is an annotation, which is also a label of the image.
type pair struct{ key, value string }

// labelPairs returns the annotations of a bundle in their order.
func (b *Bundle) labelPairs() []pair {
	pairs := []pair{
		{mediaTypeKey, registryV1}, {manifestsKey, manifestsDir + "/"}, {metadataKey, metadataDir + "/"},
		{packageKey, b.Package}, {channelsKey, strings.Join(b.Channels, ",")},
	}
	if b.DefaultChannel != "" {
		pairs = append(pairs, pair{defaultChannelKey, b.DefaultChannel})
	}
	return pairs
}

// Metadata returns the files of a new bundle made by Operon that name its package and channels, by their paths in it. It has the annotations
// in kept, too, unless they are those of its own. tests reports that the bundle has the directory tests/scorecard, which belongs into its
// image.
func (b *Bundle) Metadata(kept map[string]string, tests bool) map[string][]byte {
	pairs := append(b.labelPairs(), pair{BuilderKey, Builder})
	own := []string{defaultChannelKey}
	for _, one := range pairs {
		own = append(own, one.key)
	}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		if !slices.Contains(own, key) {
			pairs = append(pairs, pair{key, kept[key]})
		}
	}
	return map[string][]byte{annotationsFile: annotationsYAML(pairs), "Dockerfile": dockerfile(pairs, tests)}
}

func annotationsYAML(pairs []pair) []byte {
	out := bytes.NewBufferString("annotations:\n")
	for _, one := range pairs {
		fmt.Fprintf(out, "  %s: %s\n", scalar(one.key), scalar(one.value))
	}
	return out.Bytes()
}

// scalar returns a string in YAML, on one line and in quotes if it would be something else without.
func scalar(text string) string {
	if content, err := yaml.Marshal(text); err == nil && bytes.Count(content, []byte("\n")) == 1 {
		return strings.TrimSuffix(string(content), "\n")
	}
	quoted, _ := json.Marshal(text) // a string can be encoded
	return string(quoted)
}

func dockerfile(pairs []pair, tests bool) []byte {
	out := bytes.NewBufferString("FROM scratch\n\n")
	for _, one := range pairs {
		fmt.Fprintf(out, "LABEL %s=%s\n", word(one.key), word(one.value))
	}
	fmt.Fprintf(out, "\nCOPY %s /%s/\nCOPY %s /%s/\n", manifestsDir, manifestsDir, metadataDir, metadataDir)
	if tests {
		fmt.Fprintf(out, "COPY %s /%s/\n", testsDir, testsDir)
	}
	return out.Bytes()
}

// plainWord matches words that need no quotes in a Dockerfile.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.,:/+@-]+$`)

// word returns a text as one word of a Dockerfile: in quotes if it has other characters, without the meaning of those.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", " ", "\r", " ").Replace(text) + `"`
}

// labelsOf returns the labels that a Dockerfile sets with LABEL key=value.
func labelsOf(dockerfile []byte) map[string]string {
	labels := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(bytes.ReplaceAll(dockerfile, []byte("\\\n"), []byte(" "))))
	lines.Buffer(nil, maxFileSize)
	for lines.Scan() {
		all := wordsOf(lines.Text())
		if len(all) < 2 || !strings.EqualFold(all[0], "LABEL") {
			continue
		}
		for _, one := range all[1:] {
			if key, value, ok := strings.Cut(one, "="); ok {
				labels[key] = value
			}
		}
	}
	return labels
}

// wordsOf splits a line of a Dockerfile into words, without their quotes and backslashes.
func wordsOf(line string) []string {
	var all []string
	var current strings.Builder
	inWord, escaped, quote := false, false, rune(0)
	for _, r := range line {
		switch {
		case escaped:
			current.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			inWord, escaped = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			inWord, quote = true, r
		case quote == 0 && (r == ' ' || r == '\t' || r == '\r'):
			if inWord {
				all = append(all, current.String())
			}
			current.Reset()
			inWord = false
		default:
			inWord = true
			current.WriteRune(r)
		}
	}
	if inWord {
		all = append(all, current.String())
	}
	return all
}
