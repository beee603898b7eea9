package installplan

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Limits of the manifests in the status of a plan. The API server accepts objects of about 1.5 MiB.
const (
	maxPlain     = 4 << 10
	maxManifests = 768 << 10
)

// record adds the objects to the steps of a plan that waits for approval, the smallest first, as long as there is room. An administrator sees
// what the plan would change. After the approval they are not needed, and the manager would keep them in memory.
func record(steps []v1alpha1.Step, objects []*unstructured.Unstructured) error {
	contents, order := make([][]byte, len(objects)), make([]int, len(objects))
	for i, object := range objects {
		content, err := json.Marshal(shown(object).Object)
		if err != nil {
			return fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		contents[i], order[i] = content, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(contents[a]) - len(contents[b]) })
	room := maxManifests
	for _, i := range order {
		to := &steps[i].Resource
		if len(contents[i]) <= maxPlain {
			to.Manifest = string(contents[i])
			room -= len(contents[i])
		} else {
			to.CompressedManifest = compressed(contents[i])
			room -= base64.StdEncoding.EncodedLen(len(to.CompressedManifest))
		}
		if room < 0 {
			to.Manifest, to.CompressedManifest = "", nil
			return nil // the others are larger
		}
	}
	return nil
}

// shown returns an object without what nobody compares, and without the values of Secrets: the status of a plan has other readers.
func shown(object *unstructured.Unstructured) *unstructured.Unstructured {
	switch object.GetKind() {
	case kindCSV:
		object = object.DeepCopy()
		unstructured.RemoveNestedField(object.Object, "spec", "icon")
	case "Secret":
		object = object.DeepCopy()
		unstructured.RemoveNestedField(object.Object, "data")
		unstructured.RemoveNestedField(object.Object, "stringData")
	}
	return object
}

// compressed returns a text compressed by gzip. The same text gives the same bytes.
func compressed(content []byte) []byte {
	var to bytes.Buffer
	writer := gzip.NewWriter(&to)
	_, err := writer.Write(content)
	if closed := writer.Close(); err != nil || closed != nil {
		panic("writing to memory failed") // a Buffer returns no errors
	}
	return to.Bytes()
}
