package supervisor

import (
	"context"
	"runtime/debug"
	"time"

	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/pagecache"
)

// settling is how long after the start the components have read everything once.
const settling = 3 * time.Second

// giveBackMemory returns to the system what the node needed for its start only.
func giveBackMemory(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(settling):
	}
	debug.FreeOSMemory()
	if err := pagecache.ReleaseCode(); err != nil {
		klog.ErrorS(err, "The program's own pages stay resident")
	}
}
