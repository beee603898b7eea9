package catalogs_test

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/operon-framework/operon/internal/ship/image/pulled"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// An image is read again when its period has passed, when its object changes or is created again, when it could not be read, and after it was forgotten.
func TestPoller(t *testing.T) {
	t.Parallel()
	r, of := registrytest.New(t), named("", "shop")
	clock := clocktesting.NewFakePassiveClock(time.Now())
	all := &catalogs.Catalogs{Images: pulled.New(t.TempDir(), pulled.DefaultLimits)}
	p := &catalogs.Poller{Clock: clock, Catalogs: all}
	push := func(tag, name string) string {
		return r.Push("shop:"+tag, map[string]string{"configs/catalog.yaml": fmt.Sprintf(shop, name, "image:1", "")})
	}
	object := object("", "shop")
	has := func(what, image string, period, again time.Duration, bundle string) {
		t.Helper()
		left, err := p.Poll(t.Context(), object, catalogs.Place{Image: image}, period)
		if loaded := all.Get(of); left != again || err != nil || loaded == nil || loaded.PackageOf(bundle) == "" {
			t.Errorf("%s: call again after %s, error %v, want %s and a catalog with %s", what, left, err, again, bundle)
		}
	}
	image, missing := push("1", "till"), r.Host+"/shop:3"
	has("the first time", image, time.Minute, time.Minute, "till.v1.0.0")
	push("1", "ledger")
	clock.SetTime(clock.Now().Add(40 * time.Second))
	has("within the period", image, time.Minute, 20*time.Second, "till.v1.0.0")
	has("without a period", image, 0, 0, "till.v1.0.0")
	clock.SetTime(clock.Now().Add(20 * time.Second))
	has("after the period", image, time.Minute, time.Minute, "ledger.v1.0.0")
	push("1", "till")
	object.Generation++
	has("with another generation", image, 0, 0, "till.v1.0.0")
	push("1", "queue")
	object.UID = "b"
	has("of an object that was created again", image, 0, 0, "queue.v1.0.0")

	object.Generation++
	again, failed := p.Poll(t.Context(), object, catalogs.Place{Image: missing}, 0)
	if loaded := all.Get(of); again != 10*time.Second || failed == nil || p.Last(of) == nil || loaded == nil || loaded.PackageOf("queue.v1.0.0") == "" {
		t.Errorf("an image that is missing: call again after %s, error %v, catalog %v, want the catalog before", again, failed, loaded)
	}
	push("3", "till")
	if _, err := p.Poll(t.Context(), object, catalogs.Place{Image: missing}, 0); err == nil {
		t.Error("an image that is missing is requested again at once")
	}
	clock.SetTime(clock.Now().Add(10 * time.Second))
	has("when it exists", missing, 0, 0, "till.v1.0.0")

	p.Forget(of)
	if all.Get(of) != nil {
		t.Error("the catalog is not forgotten")
	}
	has("after it was forgotten", missing, 0, 0, "till.v1.0.0")

	before := object.DeepCopy()
	object.UID = "c"
	if all.Of(before) == nil || all.Of(object) != nil {
		t.Error("an object that was created again has the catalog of the deleted one before it is read")
	}
	if _, err := p.Poll(t.Context(), object, catalogs.Place{Image: r.Host + "/shop:none"}, 0); err == nil || all.Get(of) != nil {
		t.Errorf("an object that was created again and cannot be read has the catalog %v of the deleted one, error %v", all.Get(of), err)
	}
}
