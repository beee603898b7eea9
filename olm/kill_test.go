package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/csv"
)

var everyWrite = flag.Bool("every-write", false, "kill managers after every write also where tests kill them after some, which takes minutes")

// Managers that are killed after every write of an installation, of an upgrade and of an uninstallation, and others after every third, leave
// nothing that the next one cannot continue: the end is the same, and nothing exists twice.
func TestKilledManager(t *testing.T) {
	t.Parallel()
	whole := wholeLife(t)
	for _, every := range []int{1, 3} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			t.Parallel()
			live(t, every, nil, whole)
		})
	}
}

// The same with an operator that serves webhooks, conversions and an API, and is a dependency of another one, and with a ClusterExtension.
func TestKilledManagerOfACluster(t *testing.T) {
	t.Parallel()
	env := localtest.New(t, local.Options{Nodes: 1}) // such managers work in all namespaces, so one lives after the other
	intervals := []int{6}
	if *everyWrite {
		intervals = []int{1, 2, 3, 5}
	}
	for name, tell := range map[string]story{"servers": servers, "extension": extended} {
		var whole []contents
		lives := func(every int) {
			t.Run(fmt.Sprintf("%s %d", name, every), func(t *testing.T) {
				copied := *env
				w := &world{T: t, Env: &copied, sent: &requests{}}
				made := w.liveIn(every, tell, whole, func() *killer { return w.runKilled(clock.RealClock{}, nil) })
				if whole == nil {
					whole = made
				}
			})
		}
		lives(0)
		for _, every := range intervals {
			lives(every)
		}
	}
}

// undisturbed is a life without kills, with which several tests compare others.
var undisturbed struct {
	sync.Mutex
	made []contents
}

// wholeLife returns the objects after each stage of a life without kills, which takes place once.
func wholeLife(t *testing.T) []contents {
	t.Helper()
	undisturbed.Lock()
	defer undisturbed.Unlock()
	if undisturbed.made == nil {
		undisturbed.made = live(t, 0, nil, nil)
	}
	return undisturbed.made
}

// live installs, upgrades and uninstalls a plain operator, and kills each manager after some writes. The watches of the managers are late if
// stale is not nil. It returns the objects after each stage, which must be those of a life without kills.
func live(t *testing.T, every int, stale lateness, want []contents) []contents {
	t.Helper()
	env := *localtest.Shared(t)
	w := &world{T: t, Env: &env, sent: &requests{}}
	return w.liveIn(every, memcacheds, want, func() *killer { return w.runKilled(clock.RealClock{}, stale, w.Namespace) })
}

// story is what happens to an operator. It returns the stages, and texts that differ between two lives with what stands for them.
type story func(w *world) (stages []func(), differ []string)

// liveIn plays a story with managers that run starts.
func (w *world) liveIn(every int, tell story, want []contents, run func() *killer) []contents {
	w.Helper()
	w.shortNamespace()
	w.connect()
	stages, differ := tell(w)
	k := run()
	k.arm(every)
	var all []contents
	for i, stage := range stages {
		stage()
		if want == nil {
			w.quiet()
			made, err := w.contents(w.Context(), differ)
			w.Must(err)
			all = append(all, made)
			continue
		}
		w.eventually(fmt.Sprintf("stage %d: the objects of a life without kills", i+1), func(ctx context.Context) error {
			made, err := w.contents(ctx, differ)
			if err != nil {
				return err
			}
			return want[i].equal(made)
		})
	}
	kills := k.arm(0)
	w.Logf("%d kills, %d writes", kills, len(w.sent.list()))
	if every > 0 && kills < 50/every {
		w.Errorf("the manager was killed %d times, which is not after every %d writes", kills, every)
	}
	return all
}

// shortNamespace makes the namespace of a life, whose name has the same length in all lives: names that contain it are shortened equally.
func (w *world) shortNamespace() {
	w.Helper()
	w.Namespace = fmt.Sprintf("life-%06x", rand.N(1<<24))
	namespaces, err := client.New(w.Config, client.Options{})
	w.Must(err)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.Must(namespaces.Create(w.Context(), made))
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(namespaces.Delete(context.WithoutCancel(w.Context()), made))) })
}

// memcacheds is the story of a plain operator.
func memcacheds(w *world) (stages []func(), differ []string) {
	w.Helper()
	r := registrytest.New(w.T)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	source := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n")
	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	newer := w.catalog(r, "newer", bundles, bothVersions)
	sub := w.subscribe("shop")
	return []func(){
		func() {
			w.Add(w.operatorGroup("group"), source, sub)
			w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
			w.awaitState(first + " AtLatestKnown")
		},
		func() {
			w.offer(source, newer)
			w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
			w.awaitState(second + " AtLatestKnown")
			w.AwaitGone(&v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(first)})
		},
		func() {
			last := &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(second)}
			w.Must(errors.Join(w.Delete(w.Context(), sub), w.Delete(w.Context(), last)))
			w.AwaitGone(last)
		},
	}, []string{r.Host, "$HOST"}
}

// servers is the story of an operator with webhooks, a conversion and an API, which another one needs.
func servers(w *world) (stages []func(), differ []string) {
	w.Helper()
	r, h := registrytest.New(w.T), newHooks(w)
	served := func(text string) string {
		for _, mode := range []string{"OwnNamespace", "SingleNamespace"} {
			text = strings.Replace(text, mode+", supported: true", mode+", supported: false", 1)
		}
		return strings.ReplaceAll(text+hooked, "$PORT", strconv.Itoa(int(h.port)))
	}
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", served(memcached))}
	proxies := strings.Replace(w.proxies(r, "Memcached"), "/proxy:1.0.0", "/proxy:all", 1)
	r.Push("proxy:all", map[string]string{
		"manifests/csv.yaml":        strings.Replace(strings.ReplaceAll(proxy, "$GROUP", w.group), "type: OwnNamespace", "type: AllNamespaces", 1),
		"metadata/annotations.yaml": "annotations:\n  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n  operators.operatorframework.io.bundle.package.v1: proxy\n",
	})
	source := w.catalogWith(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n", proxies)
	bundles["0.0.2"] = w.bundle(r, "0.0.2", served(version("0.0.2", "0.0.1")))
	newer := w.catalogWith(r, "newer", bundles, bothVersions, proxies)
	all, sub := w.operatorGroup("group"), w.subscribe("shop")
	all.Spec.TargetNamespaces = nil
	sub.Name, sub.Spec.Package = "proxy", "proxy"
	return []func(){
		func() {
			w.Add(all, source, sub)
			h.redirect()
			w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
			w.AwaitPhase("proxy.v1.0.0", v1alpha1.PhaseSucceeded, "")
			h.serves()
		},
		func() {
			w.offer(source, newer)
			w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
			w.AwaitGone(&v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(first)})
		},
		func() {
			w.Must(w.DeleteAllOf(w.Context(), &v1alpha1.Subscription{}, client.InNamespace(w.Namespace)))
			for _, name := range []string{"proxy.v1.0.0", second} {
				last := &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(name)}
				w.Must(w.Delete(w.Context(), last))
				w.AwaitGone(last)
			}
		},
	}, []string{r.Host, "$HOST", strconv.Itoa(int(h.port)), "$PORT"}
}

// extended is the story of a ClusterExtension.
func extended(w *world) (stages []func(), differ []string) {
	w.Helper()
	r := registrytest.New(w.T)
	catalog, till := w.clusterCatalog(r), clusterExtension("till-"+w.Namespace, w.Namespace, "memcached", "0.0.1")
	catalog.Name = "shop-" + w.Namespace
	w.Cleanup(func() {
		ctx := context.WithoutCancel(w.Context())
		w.Must(client.IgnoreNotFound(w.Delete(ctx, till)))
		w.Must(client.IgnoreNotFound(w.Delete(ctx, catalog)))
	})
	return []func(){
		func() {
			w.Add(catalog, till)
			w.awaitConditions(till, "Progressing=True Succeeded", "Installed=True Succeeded Installed bundle "+first)
		},
		func() {
			w.choosing(till, "0.0.2", "CatalogProvided")
			w.awaitConditions(till, "Progressing=True Succeeded", "Installed=True Succeeded Installed bundle "+second)
		},
		func() {
			last := &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(second)}
			w.Must(w.Delete(w.Context(), till))
			w.AwaitGone(till)
			w.AwaitGone(last)
			w.Must(w.Delete(w.Context(), catalog))
			w.AwaitGone(catalog)
		},
	}, []string{r.Host, "$HOST"}
}

// newKilledWorld returns a namespace with a manager that is started again when it is killed.
func newKilledWorld(t *testing.T, now clock.PassiveClock) (*world, *killer) {
	t.Helper()
	w := &world{T: t, Env: localtest.Shared(t), sent: &requests{}}
	w.connect()
	return w, w.runKilled(now, nil, w.Namespace)
}

// runKilled runs a manager, in some namespaces or in all, that is started again when it is killed. Its watches are late if stale is not nil.
func (w *world) runKilled(now clock.PassiveClock, stale lateness, namespaces ...string) *killer {
	w.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context())) // until the cleanup
	k, cache, restricted := &killer{}, w.TempDir(), w.restricted()
	w.killer = k
	var lives sync.WaitGroup
	begin := func() *life {
		l := &life{killer: k, ended: make(chan struct{})}
		config := rest.CopyConfig(restricted)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return stale.wrap(l.wrap(w.sent.wrap(next))) })
		running, kill := context.WithCancel(ctx)
		l.kill = kill
		lives.Go(func() {
			if err := operon.Run(running, "olm", config, operon.Config{Namespaces: namespaces}, options(cache, &csv.Composer{Clock: now}, false)...); err != nil && !l.killed() {
				w.Errorf("the manager failed: %v", err)
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
	w.Cleanup(func() {
		cancel()
		lives.Wait()
	})
	w.Cleanup(w.clear)
	w.Cleanup(w.tell)
	return k
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

// mostKills is how many managers may be killed while a test waits. One that repeats its writes forever is killed more often.
const mostKills = 300

// eventually waits until a check succeeds. If managers are killed, the time limit starts again after every tenth kill: on a busy machine, a new
// manager takes ten seconds to its first write.
func (w *world) eventually(what string, check func(context.Context) error) {
	w.Helper()
	if w.killer == nil {
		localtest.Eventually(w.T, what, check)
		return
	}
	var last error
	for limit := w.killer.count() + mostKills; w.killer.count() < limit; {
		next := w.killer.count() + 10
		localtest.Eventually(w.T, what+", or ten kills", func(ctx context.Context) error {
			if last = check(ctx); last == nil || w.killer.count() >= next {
				return nil
			}
			return fmt.Errorf("after %d kills: %w", w.killer.count(), last)
		})
		if last == nil {
			return
		}
	}
	w.Fatalf("%s: after %d kills: %v", what, w.killer.count(), last)
}

func (k *killer) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
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
