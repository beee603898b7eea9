package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
)

// FuzzParseGroupKinds checks that, for any annotation of a user, writing the parsed list again yields the same list.
func FuzzParseGroupKinds(f *testing.F) {
	for _, text := range []string{"", "ConfigMap,Deployment.apps", ",,", " a . b ,a.b", "A,A", ".x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kinds := map[schema.GroupKind]bool{}
		for _, kind := range plan.ParseGroupKinds(text) {
			kinds[kind] = true
		}
		again := plan.ParseGroupKinds(plan.GroupKinds(kinds))
		if len(again) > len(kinds) {
			t.Errorf("%q has %v, and then %v", text, kinds, again)
		}
	})
}
