package instance

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// The last output of a node is shown without what this process has logged.
func TestOfOthers(t *testing.T) {
	t.Parallel()
	node := `E1126 09:05:45.643673 1 main.go:1] "the node failed" err="signal 9"`
	got := ofOthers([]string{
		fmt.Sprintf(`W1126 09:05:45.643673 %7d plane.go:1] "the cluster stops"`, os.Getpid()),
		node,
		`{"level":"warn","ts":"2026-11-26T09:05:45.643673Z","logger":"etcd-client","caller":"v3/retry_interceptor.go:68","msg":"retrying of unary invoker failed"}`,
		"panic: in the node",
	})
	if want := []string{node, "panic: in the node"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
