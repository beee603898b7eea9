package proxy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The owner is added to JSON and YAML, in which integers stay integers. Other formats are left alone.
func TestAddOwner(t *testing.T) {
	t.Parallel()
	owner := Owner{Kind: schema.GroupVersionKind{Group: "market.example.com", Version: "v1", Kind: "Stall"}, Namespace: "a", Name: "one", UID: "1"}
	for body, want := range map[string]string{
		`{"kind":"Coin","spec":{"serial":9007199254740993}}`: `"spec":{"serial":9007199254740993}`,
		"kind: Coin\nspec: {serial: 9007199254740993}\n":     `"spec":{"serial":9007199254740993}`,
		`{"kind":"Coin","spec":{"ratio":0.5,"none":null}}`:   `"spec":{"none":null,"ratio":0.5}`,
		"\x00": "",
		"":     "",
	} {
		changed, err := owner.addTo([]byte(body), "a")
		if err != nil || !strings.Contains(string(changed), want) || (want != "") != strings.Contains(string(changed), `"uid":"1"`) {
			t.Errorf("%s became %s, %v; want %s and an owner", body, changed, err, want)
		}
	}
}
