package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/strvals"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
)

// overrides are the values that watches.yaml sets in every release, with environment variables expanded.
type overrides map[string]string

// readOverrides expands the environment variables and the templates in overrideValues.
func readOverrides(w *engine.Watch) (overrides, error) {
	var all overrides
	if err := w.Decode("overrideValues", &all); err != nil {
		return nil, err
	}
	for key, value := range all {
		parsed, err := template.New(key).Funcs(sprig.TxtFuncMap()).Parse(os.ExpandEnv(value))
		if err != nil {
			return nil, w.Errorf("overrideValues", "overrideValues %s: %v", key, err)
		}
		var text strings.Builder
		if err := parsed.Execute(&text, nil); err != nil {
			return nil, w.Errorf("overrideValues", "overrideValues %s: %v", key, err)
		}
		all[key] = text.String()
	}
	if _, err := all.values(); err != nil {
		return nil, w.Errorf("overrideValues", "overrideValues: %v", err)
	}
	return all, nil
}

// values returns the overrides as values of type string.
func (o overrides) values() (map[string]any, error) {
	values := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if err := strvals.ParseIntoString(key+"="+o[key], values); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return values, nil
}

// source is a Secret or ConfigMap in the namespace of each object with values of its chart.
type source struct {
	Kind string `json:"kind"`
	// Name may contain $(name), the name of the object.
	Name string `json:"name"`
	// Key holds the values, as YAML. Default: values.yaml.
	Key string `json:"key,omitempty"`
	// Optional allows the Secret or ConfigMap, or the key, not to exist.
	Optional bool `json:"optional,omitempty"`
}

func readSources(w *engine.Watch) ([]source, error) {
	var all []source
	if err := w.Decode("valuesFrom", &all); err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Kind != "Secret" && all[i].Kind != "ConfigMap" {
			return nil, w.Errorf("valuesFrom", "valuesFrom: the kind %q is neither Secret nor ConfigMap", all[i].Kind)
		}
		if all[i].Name == "" {
			return nil, w.Errorf("valuesFrom", "valuesFrom: a %s has no name", all[i].Kind)
		}
		if all[i].Key == "" {
			all[i].Key = "values.yaml"
		}
	}
	return all, nil
}

// missingError reports that values do not exist yet.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// read returns the values in a source.
func (s source) read(ctx context.Context, owner string, reader Reader) (map[string]any, error) {
	meta := metav1.ObjectMeta{Name: strings.ReplaceAll(s.Name, "$(name)", owner)}
	var object client.Object = &corev1.ConfigMap{ObjectMeta: meta}
	if s.Kind == "Secret" {
		object = &corev1.Secret{ObjectMeta: meta}
	}
	found, err := reader.Get(ctx, object)
	if err != nil {
		return nil, err
	}
	content, ok := contentOf(object, s.Key)
	if !found || !ok {
		if s.Optional {
			return nil, nil
		}
		return nil, &missingError{fmt.Sprintf("the chart needs the key %s of %s %s", s.Key, s.Kind, meta.Name)}
	}
	values, err := common.ReadValues(content)
	if err != nil {
		return nil, operon.TerminalError(ReasonInvalidValues, fmt.Errorf("key %s of %s %s: not valid YAML: %w", s.Key, s.Kind, meta.Name, err))
	}
	return values, nil
}

func contentOf(object client.Object, key string) ([]byte, bool) {
	switch object := object.(type) {
	case *corev1.Secret:
		content, ok := object.Data[key]
		return content, ok
	case *corev1.ConfigMap:
		content, ok := object.Data[key]
		return []byte(content), ok
	}
	return nil, false
}

// specOf returns the spec of an object as values.
func specOf(object *engine.Object) (map[string]any, error) {
	if len(object.Spec.Raw) == 0 {
		return map[string]any{}, nil
	}
	var spec any
	if err := utiljson.Unmarshal(object.Spec.Raw, &spec); err != nil {
		return nil, operon.TerminalError(ReasonInvalidValues, fmt.Errorf("spec: %w", err))
	}
	values, ok := spec.(map[string]any)
	if !ok && spec != nil {
		return nil, operon.TerminalError(ReasonInvalidValues, errors.New("spec is not an object: it must be the values of the chart"))
	}
	return values, nil
}
