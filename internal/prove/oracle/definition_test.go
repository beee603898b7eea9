package oracle_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/normalize"
)

// historyOf returns the history that a definition declares whose status may contain any field.
func historyOf(t *testing.T, kind, path string) normalize.History {
	t.Helper()
	definition := definitionOf(kind, map[string]any{"properties": map[string]any{
		"status": map[string]any{"x-kubernetes-preserve-unknown-fields": true},
	}})
	definition.SetAnnotations(map[string]string{normalize.HistoryAnnotation: path})
	history, err := normalize.HistoryOf(definition)
	if err != nil {
		t.Fatal(err)
	}
	return history
}

// mapsOf returns the maps of a definition whose schema has only the field of a path, which is a map of texts. Its parents are objects, or lists
// if their names end with [].
func mapsOf(t *testing.T, kind, path string) normalize.Maps {
	t.Helper()
	at := map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	for _, name := range slices.Backward(strings.Split(path, ".")) {
		name, list := strings.CutSuffix(name, "[]")
		if list {
			at = map[string]any{"type": "array", "items": at}
		}
		at = map[string]any{"type": "object", "properties": map[string]any{name: at}}
	}
	maps, err := normalize.MapsOf(definitionOf(kind, at))
	if err != nil {
		t.Fatal(err)
	}
	return maps
}

func definitionOf(kind string, root map[string]any) *unstructured.Unstructured {
	group, _, _ := strings.Cut(kinds[kind][0], "/")
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "CustomResourceDefinition",
		"spec": map[string]any{
			"group": group, "names": map[string]any{"kind": kind},
			"versions": []any{map[string]any{"schema": map[string]any{"openAPIV3Schema": root}}},
		},
	}}
}
