package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/local/localtest"
)

// viewer is an informer that records the events of the test's ConfigMaps.
type viewer struct {
	*stand
	informer cache.SharedIndexInformer
	client   typedcorev1.ConfigMapInterface // of the same instance

	mu   sync.Mutex
	seen []string
}

// views starts an informer behind the proxy. It returns when the informer has received all objects of its first list.
func (s *stand) views(config *rest.Config) *viewer {
	s.Helper()
	client := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(s.Namespace))
	v := &viewer{stand: s, informer: factory.Core().V1().ConfigMaps().Informer(), client: client.CoreV1().ConfigMaps(s.Namespace)}
	note := func(what string) func(any) {
		return func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			v.note(what, object.(*corev1.ConfigMap))
		}
	}
	told, err := v.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note("+"), DeleteFunc: note("-"),
		UpdateFunc: func(_, object any) { note("~")(object) },
	})
	s.must(err)
	ctx, stop := context.WithCancel(context.WithoutCancel(s.Context()))
	factory.Start(ctx.Done())
	s.Cleanup(func() {
		stop()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(s.Context().Done(), told.HasSynced) {
		s.Fatal("the informer has not synced")
	}
	return v
}

func (v *viewer) note(what string, object *corev1.ConfigMap) {
	if object.Name == "kube-root-ca.crt" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = append(v.seen, what+object.Name+object.Data["n"])
}

func (v *viewer) shown() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Join(v.seen, " ")
}

// shows waits until the informer has received exactly the expected events.
func (v *viewer) shows(want string) {
	v.Helper()
	localtest.Eventually(v, want, func(context.Context) error {
		if got := v.shown(); got != want {
			return fmt.Errorf("shown is %s", got)
		}
		return nil
	})
}

// seesPresent waits until a request counts as one that follows from the current state.
func (v *viewer) seesPresent() {
	v.Helper()
	localtest.Eventually(v, "a request that is not stale", func(ctx context.Context) error {
		_, err := v.client.Get(ctx, "x", metav1.GetOptions{})
		all := v.Record().Requests()
		if err == nil && all[len(all)-1].Stale {
			err = fmt.Errorf("the request is %+v", all[len(all)-1])
		}
		return err
	})
}

// inBoth runs a test with an informer in JSON and one in protobuf.
func inBoth(t *testing.T, faults []fault.Fault, test func(v *viewer, direct typedcorev1.ConfigMapInterface)) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			s := standWith(t, proxy.Options{Kill: func() {}}, faults...)
			i, err := s.NewInstance("")
			s.must(err)
			config := i.Config()
			config.ContentType = contentType
			test(s.views(config), s.configMaps(s.Env.Config))
		})
	}
}

// write creates or changes a ConfigMap.
func (s *stand) write(client typedcorev1.ConfigMapInterface, name, n string) {
	s.Helper()
	if n == "1" {
		_, err := client.Create(s.Context(), configMap(name, map[string]string{"n": n}), metav1.CreateOptions{})
		s.must(err)
		return
	}
	object, err := client.Get(s.Context(), name, metav1.GetOptions{})
	s.must(err)
	object.Data["n"] = n
	_, err = client.Update(s.Context(), object, metav1.UpdateOptions{})
	s.must(err)
}

// listed returns the result of a list of the test's ConfigMaps.
func (s *stand) listed(client typedcorev1.ConfigMapInterface, of metav1.ListOptions) string {
	s.Helper()
	list, err := client.List(s.Context(), of)
	s.must(err)
	var all []string
	for _, each := range list.Items {
		if each.Name != "kube-root-ca.crt" {
			all = append(all, each.Name+each.Data["n"])
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// still is how long the operator has to be quiet before a view ends. It is long enough to be measured.
var still = metav1.Duration{Duration: 700 * time.Millisecond}

// long is the maximum duration of a view that has to end only when the operator is quiet.
var long = metav1.Duration{Duration: 2 * localtest.Patience}

// busy keeps the operator active until the returned function is called, so that a view
// stays frozen. It does so with a request that does not end.
func (s *stand) busy() (quiet func()) {
	s.Helper()
	client, err := rest.HTTPClientFor(s.Proxy.Config())
	s.must(err)
	body, rest := io.Pipe()
	ctx, stop := context.WithCancel(s.Context())
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/configmaps", s.Proxy.Config().Host, s.Namespace)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	s.must(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close() // the response is not needed
		}
	}()
	localtest.Eventually(s, "a request under way", func(context.Context) error {
		if now, _ := s.Activity(); now.Open == 0 {
			return fmt.Errorf("the activity is %+v", now)
		}
		return nil
	})
	return sync.OnceFunc(func() {
		stop()
		_ = rest.Close() // it never fails
		<-ended
	})
}

var ofX = fault.Match{Verb: fault.Event, Resource: "configmaps", Name: "x", Type: "MODIFIED"}

// After an event, the operator sees nothing newer until it is quiet. Then it sees all events, in order.
// Requests that must return the newest state return it.
func TestHold(t *testing.T) {
	t.Parallel()
	inBoth(t, []fault.Fault{{Kind: fault.Hold, Quiet: still, For: long, On: ofX}}, func(v *viewer, direct typedcorev1.ConfigMapInterface) {
		v.write(direct, "x", "1")
		v.shows("+x1")
		quiet := v.busy()
		defer quiet()
		v.write(direct, "x", "2")
		v.write(direct, "x", "3")
		v.write(direct, "y", "1")
		through := v.configMaps()
		localtest.Eventually(v, "a frozen view", func(context.Context) error {
			if now, _ := v.Activity(); !now.Disturbed {
				return fmt.Errorf("the activity is %+v", now)
			}
			return nil
		})
		now, err := direct.List(v.Context(), metav1.ListOptions{})
		v.must(err)
		for what, of := range map[string]metav1.ListOptions{
			"x1": {ResourceVersion: "0", Limit: 1}, "x3 y1": {}, "x3 y1 ": {ResourceVersion: now.ResourceVersion},
			" x3 y1": {ResourceVersion: now.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		} {
			if got := v.listed(through, of); got != strings.TrimSpace(what) {
				v.Errorf("a list of %+v shows %q, want %q", of, got, what)
			}
		}
		x, err := through.Get(v.Context(), "x", metav1.GetOptions{})
		v.must(err)
		if got := v.shown(); x.Data["n"] != "3" || got != "+x1" {
			v.Errorf("get shows %v, the watch %s", x.Data, got)
		}
		began := time.Now()
		quiet()
		v.shows("+x1 ~x2 ~x3 +y1")
		if took := time.Since(began); took < still.Duration/2 {
			v.Errorf("all was shown after %s", took)
		}
		v.write(direct, "x", "4")
		v.shows("+x1 ~x2 ~x3 +y1 ~x4")
		_, err = through.Get(v.Context(), "y", metav1.GetOptions{})
		v.must(err)
		for _, r := range v.Record().Requests() {
			if r.Verb == "get" && r.Stale != (r.Name == "x") {
				v.Errorf("%s is recorded as stale: %v", r.String(), r.Stale)
			}
		}
	})
}

// An operator whose view was frozen before a write sees neither its own write nor later changes.
func TestHoldBeforeAWrite(t *testing.T) {
	t.Parallel()
	for _, moment := range []fault.Moment{fault.Before, fault.Effect} {
		const want = "+x1"
		t.Run(string(moment), func(t *testing.T) {
			t.Parallel()
			f := fault.Fault{Kind: fault.Hold, Moment: moment, Quiet: still, For: long, On: fault.Match{Verb: "create", Resource: "configmaps"}}
			inBoth(t, []fault.Fault{f}, func(v *viewer, direct typedcorev1.ConfigMapInterface) {
				v.write(direct, "x", "1")
				v.shows("+x1")
				quiet := v.busy()
				defer quiet()
				v.write(v.configMaps(), "mine", "1")
				v.write(direct, "y", "1")
				v.shows(want)
				v.must(pause(v.Context(), still.Duration/2))
				if got := v.shown(); got != want {
					v.Errorf("shown is %s, want %s", got, want)
				}
				quiet()
				v.shows("+x1 +mine1 +y1")
			})
		})
	}
}

// A view of one resource is frozen while other resources are not. A view ends at the latest after its duration,
// even if the operator is busy.
func TestHoldOfOneResource(t *testing.T) {
	t.Parallel()
	f := fault.Fault{
		Kind: fault.Hold, View: "configmaps", On: fault.Match{Verb: "create", Resource: "secrets"},
		For: metav1.Duration{Duration: time.Second},
	}
	inBoth(t, []fault.Fault{f}, func(v *viewer, direct typedcorev1.ConfigMapInterface) {
		secrets := kubernetes.NewForConfigOrDie(v.Proxy.Config()).CoreV1().Secrets(v.Namespace)
		stream, err := secrets.Watch(v.Context(), metav1.ListOptions{})
		v.must(err)
		defer stream.Stop()
		defer v.busy()()
		began := time.Now()
		_, err = secrets.Create(v.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
		v.must(err)
		v.write(direct, "x", "1")
		v.next(stream, "ADDED")
		v.shows("+x1")
		if took := time.Since(began); took < time.Second {
			v.Errorf("the view ended after %s", took)
		}
	})
}

// Held events are discarded: the operator lists, and never sees the intermediate states.
func TestSkip(t *testing.T) {
	t.Parallel()
	f := fault.Fault{Kind: fault.Skip, Quiet: still, For: long, On: ofX}
	inBoth(t, []fault.Fault{f}, func(v *viewer, direct typedcorev1.ConfigMapInterface) {
		v.write(direct, "x", "1")
		v.write(direct, "y", "1")
		v.shows("+x1 +y1")
		quiet := v.busy()
		defer quiet()
		v.write(direct, "x", "2")
		v.must(direct.Delete(v.Context(), "y", metav1.DeleteOptions{}))
		v.write(direct, "y", "1")
		v.write(direct, "x", "3")
		quiet()
		localtest.Eventually(v, "x3", func(context.Context) error {
			if got := v.shown(); !strings.Contains(got, "~x3") {
				return fmt.Errorf("shown is %s", got)
			}
			return nil
		})
		if got := v.shown(); strings.Contains(got, "x2") || strings.Contains(got, "-y") {
			v.Errorf("shown is %s", got)
		}
		v.seesPresent()
		v.write(direct, "x", "4")
		localtest.Eventually(v, "x4", func(context.Context) error {
			if got := v.shown(); !strings.HasSuffix(got, "~x4") {
				return fmt.Errorf("shown is %s", got)
			}
			return nil
		})
	})
}

// Watches end with 410 several times, and no change is lost.
func TestRelist(t *testing.T) {
	t.Parallel()
	f := fault.Fault{Kind: fault.Relist, On: fault.Match{Verb: "get", Times: 3}}
	inBoth(t, []fault.Fault{f}, func(v *viewer, direct typedcorev1.ConfigMapInterface) {
		v.write(direct, "x", "1")
		v.shows("+x1")
		want := "+x1"
		for _, n := range []string{"2", "3", "4"} {
			_, err := v.configMaps().Get(v.Context(), "x", metav1.GetOptions{})
			v.must(err)
			v.write(direct, "x", n)
			localtest.Eventually(v, "x"+n, func(context.Context) error {
				if got := v.shown(); !strings.Contains(got, "x"+n) {
					return fmt.Errorf("shown is %s", got)
				}
				return nil
			})
			want += " ~x" + n
		}
		watches := 0
		for _, r := range v.Record().Requests() {
			if r.Verb == "watch" {
				watches++
			}
		}
		if watches < 3 {
			v.Errorf("%d watches have ended", watches)
		}
	})
}

// A watch of a client without informers ends with the API server's own event.
func TestARelistIsAnExpiredEvent(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, fault.Fault{Kind: fault.Relist, View: "configmaps", On: fault.Match{Verb: "create"}})
			config := s.Proxy.Config()
			config.ContentType = contentType
			client := s.configMaps(config)
			list, err := client.List(t.Context(), metav1.ListOptions{})
			s.must(err)
			stream, err := client.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=x", ResourceVersion: list.ResourceVersion})
			s.must(err)
			defer stream.Stop()
			s.write(client, "y", "1")
			s.expired(stream)
		})
	}
}

// A watch that was requested but has not begun when watches end is ended, too: its initial state may have been read before.
func TestARelistEndsAWatchThatBegins(t *testing.T) {
	t.Parallel()
	var client typedcorev1.ConfigMapInterface
	server := rest.CopyConfig(localtest.Shared(t).Config)
	server.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Has("watch") {
				if _, err := client.Create(r.Context(), configMap("y", nil), metav1.CreateOptions{}); err != nil {
					return nil, err
				}
			}
			return next.RoundTrip(r)
		})
	})
	s := standWith(t, proxy.Options{Server: server}, fault.Fault{Kind: fault.Relist, View: "configmaps", On: fault.Match{Verb: "create"}})
	client = s.configMaps()
	list, err := client.List(t.Context(), metav1.ListOptions{})
	s.must(err)
	stream, err := client.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=x", ResourceVersion: list.ResourceVersion})
	s.must(err)
	defer stream.Stop()
	s.expired(stream)
}

// roundTripper implements http.RoundTripper with a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// expired waits for the event that ends a watch whose resource version is no longer available.
func (s *stand) expired(stream watch.Interface) {
	s.Helper()
	select {
	case event := <-stream.ResultChan():
		if err := apierrors.FromObject(event.Object); event.Type != watch.Error || !apierrors.IsResourceExpired(err) {
			s.Errorf("the event is %s, %v", event.Type, err)
		}
	case <-time.After(localtest.Patience):
		s.Error("the watch goes on")
	}
}
