package supervisor

import (
	"context"
	"runtime/debug"
	"time"

	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/pagecache"
)

// giveBackMemory returns memory to the operating system that the node needed only for its start.
func giveBackMemory(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(timing.memorySettle):
	}
	debug.FreeOSMemory()
	if err := pagecache.ReleaseCode(); err != nil {
		klog.ErrorS(err, "The program's own pages stay resident")
	}
}
