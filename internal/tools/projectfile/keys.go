package projectfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// registry is the only key that is not a flag: together with image it sets the flag push.
const registry = "registry"

// kind reads a value of a type, as the words that a flag accepts.
type kind func(*yaml.Node) ([]string, error)

// kinds are the types of all keys.
var kinds = map[string]kind{
	"image":            text("the name of an image", checkImage),
	registry:           text("a registry such as registry.example.com/team", checkImage),
	"platform":         texts("platforms", checkPlatform),
	"cluster":          text("the name of a local cluster", checkLabel),
	"main":             text("the directory of a main package", checkLocal),
	"namespace":        text("a namespace", checkLabel),
	"replicas":         number(1),
	"shards":           number(0),
	"memory":           quantity,
	"watch-namespaces": texts("namespaces", checkLabel),
	"pod-annotation":   mapping,
	"arg":              texts("arguments of the operator", checkArgument),
}

func text(want string, check func(string) error) kind {
	return func(node *yaml.Node) ([]string, error) {
		word, err := scalar(node, want, "!!str")
		if err == nil {
			err = check(word)
		}
		return []string{word}, err
	}
}

func texts(want string, check func(string) error) kind {
	return func(node *yaml.Node) ([]string, error) {
		words, err := list(node, want)
		for _, word := range words {
			err = cmp.Or(err, check(word))
		}
		return words, err
	}
}

func number(least int) kind {
	return func(node *yaml.Node) ([]string, error) {
		word, err := scalar(node, "a whole number", "!!int")
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("want a whole number, got %.60q", word)
		}
		if n < int64(least) {
			return nil, fmt.Errorf("want at least %d, got %d", least, n)
		}
		return []string{strconv.FormatInt(n, 10)}, nil
	}
}

func quantity(node *yaml.Node) ([]string, error) {
	word, err := scalar(node, "an amount such as 512Mi", "!!str", "!!int")
	if err != nil {
		return nil, err
	}
	if amount, err := resource.ParseQuantity(word); err != nil || amount.Sign() <= 0 {
		return nil, fmt.Errorf("want an amount such as 512Mi, got %.60q", word)
	}
	return []string{word}, nil
}

func mapping(node *yaml.Node) ([]string, error) {
	if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
		return nil, fmt.Errorf("want a mapping of names to texts, got %s", described(node))
	}
	entries := map[string]string{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, word := node.Content[i], node.Content[i+1]
		if problems := validation.IsQualifiedName(name.Value); len(problems) > 0 {
			return nil, fmt.Errorf("%.60q is not a valid name of an annotation: %s", name.Value, problems[0])
		}
		if _, twice := entries[name.Value]; twice {
			return nil, fmt.Errorf("%s is set twice, again in line %d", name.Value, name.Line)
		}
		found, err := scalar(word, "text for "+name.Value, "!!str")
		if err != nil {
			return nil, err
		}
		entries[name.Value] = found
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		words = append(words, name+"="+entries[name])
	}
	return words, nil
}

func checkImage(name string) error {
	if _, err := reference.ParseNormalizedNamed(name); err != nil {
		return fmt.Errorf("%.200q: %w", name, err)
	}
	return nil
}

func checkPlatform(name string) error {
	if system, architecture, _ := strings.Cut(name, "/"); system != "linux" || architecture == "" {
		return fmt.Errorf("want linux/ARCH such as linux/amd64, got %.60q", name)
	}
	return nil
}

func checkLabel(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%.60q is not a valid name: %s", name, problems[0])
	}
	return nil
}

func checkArgument(argument string) error {
	if argument == "" || strings.ContainsRune(argument, 0) {
		return fmt.Errorf("%.60q is not an argument of a program", argument)
	}
	return nil
}

func checkLocal(dir string) error {
	if !filepath.IsLocal(dir) {
		return errors.New("want a directory in the project")
	}
	return nil
}

// consistent rejects keys that contradict each other, and derives the flag push from the registry.
func (s *Settings) consistent() error {
	if shards, ok := s.values["shards"]; ok && shards.words[0] != "0" {
		if _, ok := s.values["replicas"]; !ok {
			return s.at(shards.line, "shards needs replicas: all replicas together reconcile the shards, so state how many there are")
		}
	}
	into, ok := s.values[registry]
	if !ok {
		return nil
	}
	image, ok := s.values["image"]
	if !ok {
		return s.at(into.line, "registry needs image: the name of the image in the registry, such as web:1.0")
	}
	name, prefix := image.words[0], strings.TrimSuffix(into.words[0], "/")+"/"
	first, _, several := strings.Cut(name, "/")
	switch {
	case strings.HasPrefix(name, prefix):
	case several && (strings.ContainsAny(first, ".:") || first == "localhost"):
		return s.at(max(image.line, into.line), "image %s is not in registry %s: remove one of them, or the registry from the image's name", name, into.words[0])
	default:
		name = prefix + name
	}
	parsed, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return s.at(into.line, "registry and image make %q: %v", name, err)
	}
	if _, digested := parsed.(reference.Digested); digested {
		return s.at(image.line, "image %s has a digest, which results from the build: remove it, or the registry", image.words[0])
	}
	s.values[Push] = value{line: into.line, words: []string{name}}
	return nil
}

// others lists other names of keys and flags, and keys that the file deliberately does not have.
var others = map[string]string{
	"push":       `; want "registry" and "image"`,
	"kubeconfig": "; clusters of a kubeconfig differ between machines: use the flag --kubeconfig",
	"context":    "; clusters of a kubeconfig differ between machines: use the flag --context",
	"name":       `; did you mean "image"?`,
	"watch":      `; did you mean "watch-namespaces"?`,
	"namespaces": `; did you mean "watch-namespaces"?`,
	"limit":      `; did you mean "memory"?`,
}

// suggestion suggests what the author of an unknown key may have meant.
func suggestion(key string) string {
	if known, ok := others[strings.ToLower(key)]; ok {
		return known
	}
	plain := func(key string) string {
		return strings.TrimSuffix(strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(key)), "s")
	}
	names := slices.Sorted(maps.Keys(kinds))
	for _, name := range names {
		ours, theirs := plain(name), plain(key)
		if ours == theirs || len(theirs) > 3 && (strings.HasPrefix(theirs, ours) || strings.HasPrefix(ours, theirs)) || oneApart(ours, theirs) {
			return fmt.Sprintf("; did you mean %q?", name)
		}
	}
	return "; the keys are " + strings.Join(names, ", ")
}

// oneApart reports whether one letter was added, left out or changed, or two neighbors were swapped.
func oneApart(a, b string) bool {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	a, b = a[start:], b[start:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a)+len(b) < 3 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
