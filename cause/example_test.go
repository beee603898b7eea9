package cause_test

import (
	"fmt"

	"github.com/operon-framework/operon/cause"
)

// What waits in a queue remembers why, and tells it in few words.
func ExampleGathered() {
	var why cause.Gathered
	why.Add(cause.Cause{Kind: cause.SpecChanged})
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		why.Add(cause.Cause{Kind: cause.ReadGone, Object: cause.Object{Kind: "Pod", Name: name}})
	}
	why.Add(cause.Cause{Kind: cause.RetryAfterError, Note: "apply: the API server is busy"})
	for _, text := range why.Summary() {
		fmt.Println(text)
	}
	// Output:
	// its spec changed
	// 3 Pods went away, which it reads
	// tried again after an error: apply: the API server is busy
}
