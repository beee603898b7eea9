package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
	"github.com/operon-framework/operon/olm/internal/csv"
	"github.com/operon-framework/operon/olm/internal/registrytest"
)

// Managers that are killed after every write of an installation, of an upgrade and of an uninstallation, and others after every third, leave
// nothing that the next one cannot continue: the end is the same, and nothing exists twice.
func TestKilledManager(t *testing.T) {
	t.Parallel()
	whole := live(t, 0, nil, nil)
	for _, every := range []int{1, 3} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			t.Parallel()
			live(t, every, nil, whole)
		})
	}
}

// live installs, upgrades and uninstalls an operator, and kills each manager after some writes. The watches of the managers are late if stale
// is not nil. It returns the objects after each stage, which must be those of a life without kills.
func live(t *testing.T, every int, stale lateness, want []string) []string {
	t.Helper()
	w, k := newKilledWorld(t, clock.RealClock{}, stale)
	r := registrytest.New(t)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	source := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n")
	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	newer := w.catalog(r, "newer", bundles, "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n")
	sub := w.subscribe("shop")
	k.arm(every)
	var all []string
	for i, step := range []func(){
		func() {
			w.Add(w.operatorGroup("group"), source, sub)
			w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
			w.awaitState(first + " AtLatestKnown")
		},
		func() {
			w.Must(w.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(`{"spec":{"image":%q}}`, newer.Spec.Image)))))
			w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
			w.awaitState(second + " AtLatestKnown")
			w.AwaitGone(&v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named("memcached-operator.v0.0.1")})
		},
		func() {
			second := &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named("memcached-operator.v0.0.2")}
			w.Must(errors.Join(w.Delete(t.Context(), sub), w.Delete(t.Context(), second)))
			w.AwaitGone(second)
		},
	} {
		step()
		if want == nil {
			w.quiet()
			all = append(all, w.objects(t.Context()))
			continue
		}
		localtest.Eventually(t, "the objects of a life without kills", func(ctx context.Context) error {
			if got := w.objects(ctx); got != want[i] {
				return fmt.Errorf("stage %d: there are %s, want %s", i+1, got, want[i])
			}
			return nil
		})
	}
	kills := k.arm(0)
	t.Logf("%d kills", kills)
	if every > 0 && kills < 50/every {
		t.Errorf("the manager was killed %d times, which is not after every %d writes", kills, every)
	}
	return all
}

// objects returns how many objects there are of each kind that the manager writes, and the phases of the versions.
func (w *world) objects(ctx context.Context) string {
	w.Helper()
	var all []string
	for _, list := range []client.ObjectList{
		&v1alpha1.SubscriptionList{}, &v1alpha1.InstallPlanList{}, &v1alpha1.ClusterServiceVersionList{}, &v2.OperatorConditionList{}, &appsv1.DeploymentList{},
		&corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &corev1.SecretList{}, &corev1.ServiceList{},
	} {
		w.Must(w.List(ctx, list, client.InNamespace(w.Namespace)))
		all = append(all, fmt.Sprintf("%T=%d", list, meta.LenList(list)))
		if versions, ok := list.(*v1alpha1.ClusterServiceVersionList); ok {
			for _, one := range versions.Items {
				all = append(all, one.Name+"="+string(one.Status.Phase))
			}
		}
	}
	for _, list := range []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}} {
		w.Must(w.List(ctx, list, client.MatchingLabels{"olm.owner.namespace": w.Namespace}))
		all = append(all, fmt.Sprintf("%T=%d", list, meta.LenList(list)))
	}
	return strings.Join(all, " ")
}

// newKilledWorld returns a namespace with a manager that is started again when it is killed. Its watches are late if stale is not nil.
func newKilledWorld(t *testing.T, now clock.PassiveClock, stale lateness) (*world, *killer) {
	t.Helper()
	w := &world{T: t, Env: localtest.Shared(t), sent: &requests{}}
	w.connect()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // until the cleanup
	k, cache, restricted := &killer{}, t.TempDir(), w.restricted()
	var lives sync.WaitGroup
	begin := func() *life {
		l := &life{killer: k, ended: make(chan struct{})}
		config := rest.CopyConfig(restricted)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return stale.wrap(l.wrap(w.sent.wrap(next))) })
		running, kill := context.WithCancel(ctx)
		l.kill = kill
		lives.Go(func() {
			if err := operon.Run(running, "olm", config, operon.Config{Namespaces: []string{w.Namespace}}, options(cache, &csv.Composer{Clock: now}, false)...); err != nil && !l.killed() {
				t.Errorf("the manager failed: %v", err)
			}
		})
		return l
	}
	lives.Go(func() {
		for ctx.Err() == nil {
			select {
			case <-begin().ended:
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		lives.Wait()
	})
	t.Cleanup(w.clear)
	t.Cleanup(w.tell)
	return w, k
}

// tell logs the versions and the last writes of a test that failed.
func (w *world) tell() {
	if !w.Failed() {
		return
	}
	var versions v1alpha1.ClusterServiceVersionList
	if err := w.List(context.Background(), &versions, client.InNamespace(w.Namespace)); err != nil { // the context of the test has ended
		w.Logf("The versions cannot be listed: %v", err)
	}
	for _, one := range versions.Items {
		w.Logf("%s: deleted %v, finalizers %v, annotations %v, status %+v", one.Name, one.DeletionTimestamp, one.Finalizers, slices.Sorted(maps.Keys(one.Annotations)), one.Status)
	}
	sent := w.sent.list()
	w.Logf("The last writes: %s", strings.Join(sent[max(0, len(sent)-40):], "\n"))
}

// killer kills managers.
type killer struct {
	mu sync.Mutex
	// every is after how many writes a manager is killed. 0: it is not.
	every, kills int
}

// arm sets after how many writes managers are killed, and returns how many were.
func (k *killer) arm(every int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.every = every
	return k.kills
}

// life is that of one manager. It ends after a write: the API server has carried it out, the manager gets no answer, and sends nothing more.
// Writes that are refused do not count: a manager that is killed after each of them would only ever find out that an object exists.
type life struct {
	*killer
	kill   context.CancelFunc
	ended  chan struct{}
	writes int
	dead   bool
}

var errKilled = errors.New("the manager was killed")

func (l *life) killed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

func (l *life) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if l.killed() {
			return nil, errKilled
		}
		response, err := next.RoundTrip(request)
		if !counts(request) || err == nil && response.StatusCode >= http.StatusBadRequest || !l.wrote() {
			return response, err
		}
		if err == nil {
			err = response.Body.Close()
		}
		return nil, errors.Join(errKilled, err)
	})
}

// wrote counts a write, and reports whether the manager is dead.
func (l *life) wrote() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writes++; l.every > 0 && l.writes >= l.every && !l.dead {
		l.dead = true
		l.kills++
		l.kill()
		close(l.ended)
	}
	return l.dead
}
