package source

import (
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// A catalog is read again after its interval, or after the default if that is not valid.
func TestPeriod(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		image, interval string
		want            time.Duration
		invalid         bool
	}{
		{"shop:1", "", 0, false},
		{"shop:1", "30m", 30 * time.Minute, false},
		{"shop:1", "1d", 15 * time.Minute, true},
		{"shop:1", "15", 15 * time.Minute, true},
		{"shop:1", "0s", 15 * time.Minute, true},
		{"shop:1", "-5m", 15 * time.Minute, true},
		{"shop@sha256:0", "1d", 0, false},
		{"", "", 5 * time.Minute, false},
		{"", "soon", 15 * time.Minute, true},
	} {
		source := &v1alpha1.CatalogSource{Spec: v1alpha1.CatalogSourceSpec{SourceType: v1alpha1.SourceGRPC, Image: test.image, Address: "shop:50051"}}
		source.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{RegistryPoll: &v1alpha1.RegistryPoll{Interval: test.interval}}
		period, problem := periodOf(source)
		if period != test.want || test.invalid != strings.HasPrefix(problem, "spec.updateStrategy.registryPoll.interval: ") {
			t.Errorf("%+v: the period is %s, the problem %q", test, period, problem)
		}
	}
}
