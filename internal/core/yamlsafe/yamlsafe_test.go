package yamlsafe_test

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/core/yamlsafe"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"a":"plain, äöü, 😀"}`:             `{"a":"plain, äöü, 😀"}`,
		"{\"\x7f\":\"\u0085\u2028\ufeff\"}": `{"\u007f":"\u0085\u2028\ufeff"}`,
	} {
		if got := string(yamlsafe.JSON([]byte(content))); got != want {
			t.Errorf("%q became %q, want %q", content, got, want)
		}
	}
}

// Manifests in YAML stay as they are.
func TestManifest(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{"{\"a\":\"\x7f\"}": `{"a":"\u007f"}`, "a: \u2028\n": "a: \u2028\n"} {
		if got := string(yamlsafe.Manifest([]byte(content))); got != want {
			t.Errorf("%q became %q, want %q", content, got, want)
		}
	}
}

// What is written is read as YAML as it is as JSON.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{"plain", "\x7f", "\u0085 a", "a\u2028b", "\ufeff", "\uffff", "\U0010ffff", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		content, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]string
		if err := json.Unmarshal(content, &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(yamlsafe.JSON(content), &got); err != nil || got["text"] != want["text"] {
			t.Errorf("%q is read as %q, %v", want["text"], got["text"], err)
		}
	})
}
