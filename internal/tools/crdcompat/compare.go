package crdcompat

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// Comparison compares a definition with the one that it replaces.
type Comparison struct {
	old, new      *apiextensionsv1.CustomResourceDefinition
	before, after map[string]*schema // by version name
	seen          map[string]bool    // names of objects
	found         []*Finding
	byPlace       map[string]*Finding
	// dropped, wrong and defaulted have the version and the path of findings about objects.
	dropped, wrong, defaulted map[string]bool
}

// Compare starts a comparison with the findings that need no objects. It fails if a schema cannot be read.
func Compare(old, new *apiextensionsv1.CustomResourceDefinition) (*Comparison, error) {
	old, new = old.DeepCopy(), new.DeepCopy()
	if new.Spec.Conversion == nil {
		new.Spec.Conversion = old.Spec.Conversion // another client, such as the operator, sets it, and it is retained
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(old)
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(new)
	c := &Comparison{old: old, new: new, seen: map[string]bool{}, byPlace: map[string]*Finding{}, dropped: map[string]bool{}, wrong: map[string]bool{}, defaulted: map[string]bool{}}
	var err error
	if c.before, err = schemasOf(old); err != nil {
		return nil, fmt.Errorf("the definition in the cluster: %w", err)
	}
	if c.after, err = schemasOf(new); err != nil {
		return nil, err
	}
	c.compareVersions()
	c.compareRest()
	return c, nil
}

func schemasOf(definition *apiextensionsv1.CustomResourceDefinition) (map[string]*schema, error) {
	all := map[string]*schema{}
	for _, version := range definition.Spec.Versions {
		made, err := newSchema(version)
		if err != nil {
			return nil, err
		}
		all[version.Name] = made
	}
	return all, nil
}

// changed reports whether the change can affect objects or clients.
func (c *Comparison) changed() bool {
	was, is := c.old.Spec, c.new.Spec
	return was.Scope != is.Scope || was.Names.Kind != is.Names.Kind || !reflect.DeepEqual(was.Versions, is.Versions) ||
		strategy(c.old) != strategy(c.new)
}

// ConversionAnnotation marks a definition whose versions are converted by the operator, if its value is "operator". The
// operator sets spec.conversion when it starts, and converts only from then on.
const ConversionAnnotation = "operon.dev/conversion"

func strategy(definition *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.ConversionStrategyType {
	if definition.Annotations[ConversionAnnotation] == "operator" {
		return apiextensionsv1.WebhookConverter
	}
	return setStrategy(definition)
}

func setStrategy(definition *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.ConversionStrategyType {
	if definition.Spec.Conversion == nil {
		return apiextensionsv1.NoneConverter
	}
	return definition.Spec.Conversion.Strategy
}

// stored returns the versions in which objects may be stored. A manifest has no status: there, it is the storage version.
func stored(definition *apiextensionsv1.CustomResourceDefinition) []string {
	if one := kube.Storage(definition); len(definition.Status.StoredVersions) == 0 && one != "" {
		return []string{one}
	}
	return definition.Status.StoredVersions
}

func (c *Comparison) compareVersions() {
	for _, version := range stored(c.old) {
		if c.after[version] == nil {
			c.add(VersionDropped, version, "", "objects may be stored in this version and could no longer be read: keep it, migrate them with the operator (operon.MigrateStorage), and remove it when status.storedVersions no longer lists it")
		}
	}
	for _, version := range slices.Sorted(maps.Keys(c.before)) {
		before, after := c.before[version], c.after[version]
		if before.version.Served && (after == nil || !after.version.Served) {
			c.add(VersionUnserved, version, "", "clients that use this version will not find the kind")
		}
		if after == nil {
			continue
		}
		if hasStatus(before) && !hasStatus(after) {
			c.add(StatusLost, version, "", "the subresource status is removed: operators that write it get the error \"not found\"")
		}
	}
	if was, is := kube.Storage(c.old), kube.Storage(c.new); was != is && c.after[was] != nil {
		c.add(StorageChanged, is, "", fmt.Sprintf("objects stay stored as %s until each is written: operon.MigrateStorage does that", was))
	}
}

func hasStatus(s *schema) bool {
	return s.version.Subresources != nil && s.version.Subresources.Status != nil
}

func (c *Comparison) compareRest() {
	if was, is := c.old.Spec.Scope, c.new.Spec.Scope; was != is {
		c.add(ScopeChanged, "", "spec.scope", fmt.Sprintf("was %s and would be %s, which the API server rejects: create another kind, and move the objects", was, is))
	}
	if was, is := c.old.Spec.Names.Kind, c.new.Spec.Names.Kind; was != is {
		c.add(KindChanged, "", "spec.names.kind", fmt.Sprintf("was %s and would be %s: the stored objects use the old one", was, is))
	}
	if strategy(c.new) == apiextensionsv1.WebhookConverter && setStrategy(c.new) != apiextensionsv1.WebhookConverter && len(c.after) > 1 {
		c.add(ConversionAwaited, "", "spec.conversion", "the operator converts the versions, but is not registered yet: do not write objects until it runs, because fields that have another name in the stored version are missing")
	}
	if strategy(c.old) == apiextensionsv1.WebhookConverter && strategy(c.new) != apiextensionsv1.WebhookConverter && len(c.before) > 1 {
		c.add(ConversionLost, "", "spec.conversion", "objects were converted between versions by a webhook, and would now only get another apiVersion: fields that differ would be dropped")
	}
}

// reads returns the versions in which objects have to be read to be judged. Without a webhook one version is enough, because
// all versions have the same content.
func (c *Comparison) reads() []string {
	var both []string
	for _, version := range c.old.Spec.Versions {
		if version.Served && c.after[version.Name] != nil {
			both = append(both, version.Name)
		}
	}
	if strategy(c.new) == apiextensionsv1.WebhookConverter || len(both) == 0 {
		return both
	}
	if stored := kube.Storage(c.old); slices.Contains(both, stored) {
		return []string{stored}
	}
	return both[:1]
}

// Object judges a stored object that was read in the given version.
func (c *Comparison) Object(ctx context.Context, version, name string, fields map[string]any) {
	c.seen[name] = true
	judged := []string{version}
	if strategy(c.new) != apiextensionsv1.WebhookConverter {
		judged = slices.Sorted(maps.Keys(c.after))
	}
	for _, other := range judged {
		if !c.after[other].same(c.before[other]) {
			c.judge(ctx, other, name, fields)
		}
	}
}

// judge judges an object by the new schema of a version.
func (c *Comparison) judge(ctx context.Context, version, name string, fields map[string]any) {
	before, after := c.before[version], c.after[version]
	earlier := before.prune(fields)
	for _, path := range after.prune(fields) {
		if !slices.Contains(earlier, path) {
			c.dropped[version+" "+anyIndex(path)] = true
			c.addObject(FieldPruned, version, path, fmt.Sprintf("the schema has no such field, and its data would be dropped%s", held(fields, path)), name)
		}
	}
	c.judgeDefaults(version, name, fields)
	known := map[string]bool{}
	for _, err := range before.wrong(ctx, fields) {
		known[identity(err)] = true
	}
	refused := after.refused(ctx, fields)
	for _, err := range after.wrong(ctx, fields) {
		if known[identity(err)] {
			continue
		}
		c.wrong[version+" "+anyIndex(pathOf(err))] = true
		rule, effect := ValueRefused, "; the object can be written as long as this part of it stays the same"
		if refused[identity(err)] {
			rule, effect = ObjectInvalid, "; the object could not be written any more, nor its status"
		}
		c.addObject(rule, version, pathOf(err), err.ErrorBody()+effect, name)
	}
}

// identity returns a key that is the same for errors of one type at one place.
func identity(err *field.Error) string { return err.Field + " " + string(err.Type) }

func pathOf(err *field.Error) string {
	return strings.TrimPrefix(strings.ReplaceAll(err.Field, "<nil>", ""), ".")
}

// held returns the value of a field as text.
func held(fields map[string]any, path string) string {
	value := any(fields)
	for _, step := range strings.Split(path, ".") {
		inner, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		value = inner[step]
	}
	switch value.(type) {
	case string, bool, int64, float64:
		return fmt.Sprintf(" (%v)", value)
	}
	return ""
}

var index = regexp.MustCompile(`\[\d+\]`)

// anyIndex replaces the indexes of list elements in a path by [*].
func anyIndex(path string) string { return index.ReplaceAllString(path, "[*]") }

func (c *Comparison) add(rule Rule, version, path, message string) *Finding {
	place := strings.Join([]string{string(rule), version, anyIndex(path)}, " ")
	if found := c.byPlace[place]; found != nil {
		return found
	}
	found := &Finding{Rule: rule, Breaks: slices.Contains(breaking, rule), Version: version, Path: anyIndex(path), Message: message}
	c.byPlace[place] = found
	c.found = append(c.found, found)
	return found
}

func (c *Comparison) addObject(rule Rule, version, path, message, name string) {
	found := c.add(rule, version, path, message)
	if slices.Contains(found.Objects, name) {
		return
	}
	if found.Count++; len(found.Objects) < shownObjects {
		found.Objects = append(found.Objects, name)
	}
}

// Result completes the comparison.
func (c *Comparison) Result() *Result {
	c.compareSchemas()
	findings := slices.Clone(c.found)
	slices.SortStableFunc(findings, func(a, b *Finding) int {
		return cmp.Or(slices.Index(order, a.Rule)-slices.Index(order, b.Rule), strings.Compare(a.Version, b.Version), strings.Compare(a.Path, b.Path))
	})
	state := Changed
	if !c.changed() {
		state = Unchanged
	}
	return &Result{Name: c.new.Name, State: state, Looked: len(c.seen), Findings: findings}
}

// order is the order of findings in a result.
var order = append(slices.Clone(breaking), ValueRefused, FieldRemoved, TypeChanged, RequiredAdded, ValidationNarrowed, DefaultChanged, VersionUnserved, VersionUnread, ConversionAwaited, StatusLost, StorageChanged)
