package trigger_test

import (
	"fmt"

	"github.com/operon-framework/operon/internal/core/trigger"
)

// An object that waits in a queue stores its causes, and prints them in few words.
func ExampleGathered() {
	var why trigger.Gathered
	why.Add(trigger.Cause{Kind: trigger.SpecChanged})
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		why.Add(trigger.Cause{Kind: trigger.ReadGone, Object: trigger.Object{Kind: "Pod", Name: name}})
	}
	why.Add(trigger.Cause{Kind: trigger.RetryAfterError, Note: "apply: the API server is busy"})
	for _, text := range why.Summary() {
		fmt.Println(text)
	}
	// Output:
	// its spec changed
	// 3 Pods was deleted, which it reads
	// retry after an error: apply: the API server is busy
}
