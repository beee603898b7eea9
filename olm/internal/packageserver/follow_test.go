package packageserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/aggregated"
	v1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/ship/image/pulled"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// sources are the CatalogSources of a cluster.
type sources []v1alpha1.CatalogSource

func (s sources) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("not expected")
}

func (s sources) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.CatalogSourceList).Items = slices.Clone(s) //nolint:forcetypeassert // the reader lists nothing else
	return nil
}

const shop = `{"schema":"olm.package","name":"till","defaultChannel":"stable"}
{"schema":"olm.channel","package":"till","name":"stable","entries":[{"name":"till.v1.0.0"}]}
{"schema":"olm.bundle","package":"till","name":"till.v1.0.0","image":"till:1","properties":[{"type":"olm.package","value":{"packageName":"till","version":"1.0.0"}}]}
`

// A replica that has not read a catalog does not answer that it has no packages, and reads it after the leader.
func TestCatalogThatOnlyTheLeaderHasRead(t *testing.T) {
	t.Parallel()
	registry := registrytest.New(t)
	one := v1alpha1.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", UID: "a"}}
	one.Spec.Image = registry.Push("shop:1", map[string]string{"configs/catalog.json": shop})
	all := sources{one}
	r := &Reader{Catalogs: &catalogs.Catalogs{Images: pulled.New(t.TempDir(), pulled.DefaultLimits)}, sources: all}
	key := client.ObjectKey{Namespace: "shops", Name: "till"}
	for _, test := range []struct {
		state, paused string
		unavailable   bool
	}{{v1alpha1.StateTransientFailure, "", false}, {v1alpha1.StateReady, "true", false}, {v1alpha1.StateReady, "", true}} {
		all[0].Status.ConnectionState = &v1alpha1.ConnectionState{LastObservedState: test.state}
		all[0].Annotations = map[string]string{"operon.dev/paused": test.paused}
		if _, err := r.List(t.Context(), "shops"); apierrors.IsServiceUnavailable(err) != test.unavailable {
			t.Errorf("%+v: the list: %v", test, err)
		}
		if _, err := r.Get(t.Context(), key); apierrors.IsServiceUnavailable(err) != test.unavailable || errors.Is(err, aggregated.ErrNotFound) == test.unavailable {
			t.Errorf("%+v: one: %v", test, err)
		}
	}
	followed := map[client.ObjectKey]string{}
	for tag, digest := range map[string]string{"shop:1": "first", "shop:2": "second"} {
		all[0].Spec.Image, all[0].Status.Digest = registry.Push(tag, map[string]string{"configs/catalog.json": shop}), digest
		if err := r.follow(t.Context(), followed); err != nil {
			t.Fatal(err)
		}
		if found, err := r.List(t.Context(), "shops"); err != nil || len(found) != 1 || r.Catalogs.Of(&all[0]).Reference() != all[0].Spec.Image {
			t.Errorf("%s: there are %+v, error %v", tag, found, err)
		}
	}
	unread := *all[0].DeepCopy()
	unread.Name, unread.UID, unread.Spec.Priority = "unread", "b", 1
	r.sources = sources{unread, all[0]}
	if found, err := r.Get(t.Context(), key); err != nil || found.Status.CatalogSource != "shop" {
		t.Errorf("beside a catalog that was not read, there is %+v, error %v", found, err)
	}
	if r.gone(toolscache.DeletedFinalStateUnknown{Obj: &all[0]}); r.Catalogs.Of(&all[0]) != nil {
		t.Error("the catalog of a deleted CatalogSource is kept")
	}
	for _, now := range []sources{all, {}} { // it may be deleted while it is read
		r.sources = now
		if err := r.follow(t.Context(), followed); err != nil || len(followed) != len(now) || (r.Catalogs.Of(&all[0]) == nil) != (len(now) == 0) {
			t.Errorf("of %d, %v are followed, error %v", len(now), followed, err)
		}
	}
}

// A catalog that this replica cannot read does not hide the packages of the others, and is read as soon as that is possible.
func TestACatalogThatCannotBeRead(t *testing.T) {
	t.Parallel()
	registry := registrytest.New(t)
	all := make(sources, 2)
	for i, name := range []string{"broken", "shop"} {
		all[i].Namespace, all[i].Name, all[i].UID, all[i].Status.Digest = "shops", name, types.UID(name), "first"
		all[i].Spec.Image = registry.Push(name+":1", map[string]string{"configs/catalog.json": shop})
		all[i].Status.ConnectionState = &v1alpha1.ConnectionState{LastObservedState: v1alpha1.StateReady}
	}
	readable := all[0].Spec.Image
	all[0].Spec.Image += "-lost"
	r := &Reader{Catalogs: &catalogs.Catalogs{Images: pulled.New(t.TempDir(), pulled.DefaultLimits)}, sources: all}
	followed := map[client.ObjectKey]string{}
	if err := r.follow(t.Context(), followed); err == nil || !strings.Contains(err.Error(), "CatalogSource shops/broken: ") {
		t.Errorf("the error is %v", err)
	}
	if found, err := r.List(t.Context(), "shops"); err != nil || len(found) != 1 || found[0].Status.CatalogSource != "shop" {
		t.Errorf("there are %+v, error %v", found, err)
	}
	all[0].Spec.Image = readable
	if err := r.follow(t.Context(), followed); err != nil {
		t.Fatal(err)
	}
	if found, err := r.List(t.Context(), "shops"); err != nil || len(found) != 2 {
		t.Errorf("when it can be read, there are %+v, error %v", found, err)
	}
}

// listed are CatalogSources that report when they were listed.
type listed struct {
	sources
	when chan time.Time
}

func (l listed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := l.sources.List(ctx, list, options...)
	l.when <- time.Now()
	return err
}

// ending is a listener that only wants to know why a watch ended.
type ending chan error

func (ending) Changed(*v1.PackageManifest) {}
func (ending) Gone(*v1.PackageManifest)    {}
func (e ending) Ended(reason error)        { e <- reason }

// A watch continues while a catalog is not read yet.
func TestWatchOfACatalogThatIsNotRead(t *testing.T) {
	t.Parallel()
	all, ended := listed{make(sources, 1), make(chan time.Time, 1)}, make(ending, 1)
	r := &Reader{Catalogs: &catalogs.Catalogs{}, sources: all}
	if err := r.Watch(t.Context(), "", ended); err != nil {
		t.Fatal(err)
	}
	<-all.when
	all.sources[0].Status.ConnectionState = &v1alpha1.ConnectionState{LastObservedState: v1alpha1.StateReady}
	for range 2 {
		r.wake()
		select {
		case <-all.when:
		case err := <-ended:
			t.Fatalf("the watch ended: %v", err)
		}
	}
}

// standby is a manager that does not lead.
type standby struct{ ctrl.Manager }

func (standby) Elected() <-chan struct{} { return nil }

// A replica that does not lead soon looks for catalogs that the leader has read.
func TestFirstLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, all := time.Now(), listed{when: make(chan time.Time, 1)}
		r := &Reader{Catalogs: &catalogs.Catalogs{}, sources: all, manager: standby{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = r.Start(ctx) }()
		if after := (<-all.when).Sub(begin); after > time.Second {
			t.Errorf("it looked after %s", after)
		}
	})
}

// silent is a manager whose API server does not answer.
type silent struct{ ctrl.Manager }

func (silent) GetClient() client.Client    { return nil }
func (silent) GetAPIReader() client.Reader { return unanswered{} }

// unanswered are requests that end with their context.
type unanswered struct{ client.Reader }

func (unanswered) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// A catalog that does not answer holds up the next one no longer than the time limit, which is the same for each.
func TestCatalogsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := make(sources, 2)
		for i, name := range []string{"lost", "shop"} {
			all[i].Namespace, all[i].Name, all[i].UID = "shops", name, types.UID(name)
			all[i].Spec.SourceType, all[i].Spec.ConfigMap = v1alpha1.SourceConfigMap, name
			all[i].Status.ConnectionState = &v1alpha1.ConnectionState{LastObservedState: v1alpha1.StateReady}
		}
		r := &Reader{Catalogs: &catalogs.Catalogs{}, sources: all}
		if err := r.Catalogs.Connect(silent{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // a failure without the limit, instead of a deadlock
		defer cancel()
		begin := time.Now()
		err := r.follow(ctx, map[client.ObjectKey]string{})
		if after := time.Since(begin); after != 2*timing.load {
			t.Errorf("it waited for %s, want %s for each of two", after, timing.load)
		}
		for i := range all {
			if want := "CatalogSource shops/" + all[i].Name + ": "; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %s", err, want)
			}
		}
	})
}
