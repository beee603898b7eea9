package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsyaml "sigs.k8s.io/yaml"
)

// Watch is an entry of watches.yaml: a kind, and how its objects are managed.
type Watch struct {
	// Kind is the kind of the objects, from the fields group, version and kind.
	Kind schema.GroupVersionKind
	// Selector selects objects by their labels. Nil: all.
	Selector labels.Selector
	// ReconcilePeriod is how often each object is reconciled although nothing changed. Zero: never.
	ReconcilePeriod time.Duration
	// MaxConcurrentReconciles is how many objects are reconciled at the same time. Zero: the default of operon.Concurrency.
	MaxConcurrentReconciles int

	file   string
	engine Engine
	node   *yaml.Node
	fields map[string]*yaml.Node
}

// common are the fields that all engines share. watchDependentResources has no effect: children are always watched.
var common = []string{"group", "version", "kind", "selector", "reconcilePeriod", "maxConcurrentReconciles", "watchDependentResources"}

// Read reads a file watches.yaml. Each entry belongs to the engine whose fields it has. Errors name the file and the line.
func Read(file string, engines ...Engine) ([]*Watch, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the watches: %w", err)
	}
	var list yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(&list); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1: the file is empty: want a list of entries with group, version and kind", file)
	} else if err != nil {
		return nil, syntax(file, err)
	}
	root := list.Content[0]
	if root.Kind != yaml.SequenceNode || len(root.Content) == 0 {
		return nil, fmt.Errorf("%s:%d: want a list of entries with group, version and kind", file, root.Line)
	}
	var watches []*Watch
	var errs []error
	for _, node := range root.Content {
		watch, err := readWatch(file, node, engines)
		if err == nil {
			err = watch.unique(watches)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		watches = append(watches, watch)
	}
	return watches, errors.Join(errs...)
}

var lineOf = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax moves the line of a YAML error to the beginning of the error.
func syntax(file string, err error) error {
	text, line := err.Error(), "1"
	if match := lineOf.FindStringSubmatch(text); match != nil {
		text = text[len(match[0]):]
		if match[1] != "" {
			line = match[1]
		}
	}
	return fmt.Errorf("%s:%s: not valid YAML: %s", file, line, text)
}

func readWatch(file string, node *yaml.Node, engines []Engine) (*Watch, error) {
	w := &Watch{file: file, node: node, fields: map[string]*yaml.Node{}}
	if node.Kind != yaml.MappingNode {
		return nil, w.Errorf("", "want an entry with group, version and kind")
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if _, twice := w.fields[key.Value]; twice {
			return nil, fmt.Errorf("%s:%d: the field %s is set twice", file, key.Line, key.Value)
		}
		w.fields[key.Value] = value
	}
	for _, e := range engines {
		if slices.ContainsFunc(e.Fields().Selecting, w.Has) {
			w.engine = e
			break
		}
	}
	if w.engine == nil {
		return nil, w.unknown(engines)
	}
	if err := w.checkFields(); err != nil {
		return nil, err
	}
	if w.engine.Fields().Environment {
		expand(node)
	}
	return w, w.read()
}

// checkFields rejects fields that neither Watch nor the engine reads.
func (w *Watch) checkFields() error {
	own := w.engine.Fields()
	known := slices.Concat(common, own.Selecting, own.Others)
	for i := 0; i < len(w.node.Content); i += 2 {
		if key := w.node.Content[i]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("%s:%d: unknown field %q: the %s engine reads %s", w.file, key.Line, key.Value, w.engine.Name(), strings.Join(known, ", "))
		}
	}
	return nil
}

// read reads the common fields.
func (w *Watch) read() error {
	var selector *metav1.LabelSelector
	var period string
	var dependents bool
	for _, field := range []struct {
		name string
		into any
	}{
		{"group", &w.Kind.Group}, {"version", &w.Kind.Version}, {"kind", &w.Kind.Kind}, {"selector", &selector},
		{"reconcilePeriod", &period}, {"maxConcurrentReconciles", &w.MaxConcurrentReconciles}, {"watchDependentResources", &dependents},
	} {
		if err := w.Decode(field.name, field.into); err != nil {
			return err
		}
	}
	if w.Kind.Version == "" || w.Kind.Kind == "" {
		return w.Errorf("", "version and kind must be set")
	}
	if w.MaxConcurrentReconciles < 0 {
		return w.Errorf("maxConcurrentReconciles", "want 1 or more")
	}
	if period != "" {
		parsed, err := time.ParseDuration(period)
		if err != nil || parsed < 0 {
			return w.Errorf("reconcilePeriod", "%q is not a duration such as 5m or 1h30m", period)
		}
		w.ReconcilePeriod = parsed
	}
	if selector != nil {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return w.Errorf("selector", "%v", err)
		}
		w.Selector = parsed
	}
	return nil
}

// unique returns an error if an earlier entry has the kind.
func (w *Watch) unique(earlier []*Watch) error {
	for _, other := range earlier {
		if other.Kind.GroupKind() == w.Kind.GroupKind() {
			return w.Errorf("kind", "%s has an entry already, in line %d: each kind has one", w.Kind.Kind, other.node.Line)
		}
	}
	return nil
}

// Has reports whether the entry has a field.
func (w *Watch) Has(field string) bool { return w.fields[field] != nil }

// Decode reads a field into a value, as JSON decoding does. Fields that the value does not have are errors. If the entry
// lacks the field, the value is not changed.
func (w *Watch) Decode(field string, into any) error {
	if !w.Has(field) {
		return nil
	}
	content, err := yaml.Marshal(w.fields[field])
	if err == nil {
		err = sigsyaml.UnmarshalStrict(content, into)
	}
	if err != nil {
		return w.Errorf(field, "%s: %v", field, err)
	}
	return nil
}

// Path returns the path that a field contains. It is relative to the directory of watches.yaml.
func (w *Watch) Path(field string) (string, error) {
	var path string
	if err := w.Decode(field, &path); err != nil {
		return "", err
	}
	if path == "" {
		return "", w.Errorf(field, "%s is empty", field)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(w.file), path)
	}
	return path, nil
}

// leastPeriod is the shortest period that users of the API can set.
const leastPeriod = 10 * time.Second

// Period reads the period that an annotation of an object sets in place of ReconcilePeriod. It is at least 10 seconds, or ReconcilePeriod if that is
// shorter, so that users of the API cannot keep the operator busy. Zero: never.
func (w *Watch) Period(text string) (time.Duration, error) {
	period, err := time.ParseDuration(text)
	if err != nil || period < 0 {
		return 0, fmt.Errorf("%q is not a duration such as 5m", text)
	}
	if period == 0 {
		return 0, nil
	}
	least := leastPeriod
	if w.ReconcilePeriod > 0 {
		least = min(least, w.ReconcilePeriod)
	}
	return max(period, least), nil
}

// Dir returns the directory of watches.yaml, as an absolute path if the current directory can be determined.
func (w *Watch) Dir() string {
	dir := filepath.Dir(w.file)
	if path, err := filepath.Abs(dir); err == nil {
		return path
	}
	return dir
}

// Errorf returns an error that begins with the position of a field, or of the entry if it lacks the field.
func (w *Watch) Errorf(field, format string, args ...any) error {
	line := w.node.Line
	if w.Has(field) {
		line = w.fields[field].Line
	}
	return fmt.Errorf("%s:%d: %w", w.file, line, fmt.Errorf(format, args...))
}
