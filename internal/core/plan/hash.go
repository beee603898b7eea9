package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Hash identifies the composed content, independent of the order of its fields.
func Hash(child *unstructured.Unstructured) (string, error) {
	data, err := json.Marshal(child.Object) // maps are written in the order of their keys
	if err != nil {
		return "", fmt.Errorf("%s: %w", Of(child), err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}
