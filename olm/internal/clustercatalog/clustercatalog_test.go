package clustercatalog

import (
	"testing"
	"time"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
)

// The image of a catalog is fetched again only if its ClusterCatalog has an interval, which is in minutes.
func TestPeriod(t *testing.T) {
	t.Parallel()
	if never := periodOf(&v1.ImageSource{}); never != 0 {
		t.Errorf("without an interval, the period is %s", never)
	}
	if period := periodOf(&v1.ImageSource{PollIntervalMinutes: new(int32(5))}); period != 5*time.Minute {
		t.Errorf("with an interval of 5 minutes, the period is %s", period)
	}
}
