package crd

import (
	"slices"
	"testing"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// The first other text of a field is of the same sort as its text. Further texts may be guesses.
func TestOtherTexts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"version", "1.27", "1.28"}, {"version", "3.7.0", "3.7.1"}, {"cpu", "0.25", "0.26"}, {"replicas", "3", "4"}, {"memory", "512Mi", "1Gi"},
		{"schedule", "0 23 * * *", "0 22 * * *"}, {"schedule", "0 0 31 * *", "0 0 30 * *"}, {"schedule", "0 0 * * *", "0 1 * * *"}, {"schedule", "* * * * *", "7 1 * * *"},
		{"address", "10.0.0.1", "192.0.2.7"}, {"address", "2001:db8::1", "2001:db8::7"},
		{"bootstrap", "kafka:9092", "kafka:9093"}, {"image", "example.com/app:1.2", "example.com/app:1.3"}, {"timeout", "30s", "1m0s"},
		{"enabled", "true", "false"}, {"url", "https://example.com/a", "https://example.com/a/other"},
	} {
		got := otherTexts(test.name, test.text)
		if got[0] != test.want {
			t.Errorf("%s: %q becomes %q, want %q", test.name, test.text, got[0], test.want)
		}
		if test.name != "schedule" && guessed(&structural.Structural{}, got[0], test.text) {
			t.Errorf("%s: %q after %q is a guess", test.name, got[0], test.text)
		}
	}
	for text, other := range map[string]string{"example.com/app:v1": "example.com/app:other", "kafka:9092": "kafka:9092-other", "10.0.0.1": "2001:db8::7"} {
		if !guessed(&structural.Structural{}, other, text) {
			t.Errorf("%q after %q is no guess", other, text)
		}
	}
}

// Texts that match the pattern of a schema come first.
func TestTextsForAPattern(t *testing.T) {
	t.Parallel()
	of := &structural.Structural{ValueValidation: &structural.ValueValidation{Pattern: `^[0-9]+(s|m|h)$`}}
	got := textsFor("retention", of)
	if !slices.Contains(got, "value-a") || got[0] == "value-a" {
		t.Errorf("the texts are %q", got)
	}
}
