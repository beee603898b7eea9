package installplan

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/olm"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

func object(kind, name string, fields map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: fields}
	made.SetKind(kind)
	made.SetName(name)
	return made
}

// The commands read the manifests that the manager records: all of them, as long as there is room, without icons and values of Secrets.
func TestRecord(t *testing.T) {
	t.Parallel()
	random := make([]byte, maxManifests)
	source := rand.NewChaCha8([32]byte{})
	if _, err := source.Read(random); err != nil {
		t.Fatal(err)
	}
	objects := []*unstructured.Unstructured{
		object("ClusterServiceVersion", "one.v1", map[string]any{"spec": map[string]any{"icon": "picture", "version": "1.0.0"}}),
		object("ConfigMap", "huge", map[string]any{"data": map[string]any{"x": hex.EncodeToString(random)}}),
		object("ConfigMap", "large", map[string]any{"data": map[string]any{"x": strings.Repeat("large ", 10*maxPlain)}}),
		object("Secret", "secret", map[string]any{"data": map[string]any{"x": "aGlkZGVu"}, "stringData": map[string]any{"y": "hidden"}, "type": "Opaque"}),
	}
	steps := make([]v1alpha1.Step, len(objects))
	for i, one := range objects {
		steps[i].Resource.Kind, steps[i].Resource.Name = one.GetKind(), one.GetName()
	}
	if err := record(steps, objects); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	if len(written) > maxPlain*2 || strings.Contains(string(written), "picture") || strings.Contains(string(written), "hidden") {
		t.Errorf("%d bytes are written: %.500s", len(written), written)
	}
	var read []olm.Step
	if err := json.Unmarshal(written, &read); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1.0.0", "", "large large", "Opaque"} {
		found, err := read[i].Object()
		if err != nil || (found == nil) != (want == "") {
			t.Errorf("%s: %v, %v", objects[i].GetName(), found, err)
			continue
		}
		if content, err := json.Marshal(found); err != nil || !strings.Contains(string(content), want) {
			t.Errorf("%s: %.500s, %v", objects[i].GetName(), content, err)
		}
	}
	read[0].Resource.Manifest = read[3].Resource.Manifest
	if _, err := read[0].Object(); err == nil || err.Error() != "the manifest of ClusterServiceVersion one.v1: it is Secret secret" {
		t.Errorf("another object: %v", err)
	}
}
