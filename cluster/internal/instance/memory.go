package instance

import (
	"context"
	"runtime/debug"
	"time"

	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/pagecache"
)

// giveBackMemory returns unused memory to the operating system: soon after the start, and later after users have used the
// cluster.
func (s *server) giveBackMemory(ctx context.Context) {
	var last time.Time
	pause := timing.memorySettle
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = timing.memoryPeriod
		if !s.activity.since(last) {
			continue
		}
		last = time.Now()
		debug.FreeOSMemory()
		if err := pagecache.ReleaseCode(); err != nil {
			klog.ErrorS(err, "The program's own pages stay resident")
		}
	}
}
