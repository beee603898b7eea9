package cel_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/cel"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// A composer declares the child with out.Child(database, up); here it is asked itself.
func ExampleReadyWhen() {
	up := cel.ReadyWhen("self.status.phase == 'Up' && self.status.members >= 2")
	database := &unstructured.Unstructured{Object: map[string]any{
		"status": map[string]any{"phase": "Up", "members": int64(1)},
	}}
	fmt.Println(author.Ask(database, up))
	database.Object["status"].(map[string]any)["members"] = int64(2)
	fmt.Println(author.Ask(database, up))
	// Output:
	// false self.status.phase == 'Up' && self.status.members >= 2 is false <nil>
	// true  <nil>
}
