package normalize

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What is not compared is named without names of objects and keys of maps, which may be random or secret.
func TestWords(t *testing.T) {
	t.Parallel()
	n := &Noise{}
	if got := n.Words(); got != "" {
		t.Errorf("if everything is compared, the sentence is %q", got)
	}
	n.init()
	app, config := schema.GroupKind{Group: "example.com", Kind: "App"}, schema.GroupKind{Kind: "ConfigMap"}
	n.paths[field{app, "status.password"}] = true
	n.optional[field{app, "status.nodes.web-x7k2p.ready"}] = true
	n.optional[field{config, "data.token-1"}] = true
	n.optional[field{config, "data[token.2]"}] = true
	n.fleeting[ID("ConfigMap", "", "", "{uid of App/web}")] = true
	n.named[schema.GroupKind{Group: "batch", Kind: "Job"}] = true
	n.counted[Count{Kind: "Pod", Owner: "App/web"}] = true
	want := "not compared, because it differs between runs without faults: data in some objects of the kind ConfigMap, some objects of the kind ConfigMap, " +
		"status.nodes in some objects of the kind App, the names of the kind Job, the number of objects of the kind Pod"
	if got := n.Words(); got != want {
		t.Errorf("the sentence is\n%s\nwant\n%s", got, want)
	}
}
