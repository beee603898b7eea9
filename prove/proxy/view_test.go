package proxy_test

import (
	"context"
	"fmt"
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

	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/prove/fault"
	"github.com/operon-framework/operon/prove/proxy"
)

// viewer is an informer that writes down what it was shown of the ConfigMaps of the test.
type viewer struct {
	*stand
	informer cache.SharedIndexInformer

	mu   sync.Mutex
	seen []string
}

// views starts an informer behind the proxy, and returns when it has listed.
func (s *stand) views(config *rest.Config) *viewer {
	s.Helper()
	client := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(s.Namespace))
	v := &viewer{stand: s, informer: factory.Core().V1().ConfigMaps().Informer()}
	note := func(what string) func(any) {
		return func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			v.note(what, object.(*corev1.ConfigMap))
		}
	}
	_, err := v.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
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
	if !cache.WaitForCacheSync(s.Context().Done(), v.informer.HasSynced) {
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

// shows waits until the informer was shown something.
func (v *viewer) shows(want string) {
	v.Helper()
	localtest.Within(v, time.Minute, want, func(context.Context) error {
		if got := v.shown(); got != want {
			return fmt.Errorf("shown is %s", got)
		}
		return nil
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

// listed is what a list shows of the test's ConfigMaps.
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

// still is long enough that the requests of somebody who is busy come closer to each other.
var still = metav1.Duration{Duration: 2 * time.Second}

// long is the time of a view that is to end only when the operator is quiet.
var long = metav1.Duration{Duration: time.Minute}

// busy keeps the operator at work until the function that it returns is called, so that a view
// stays frozen.
func (s *stand) busy() (quiet func()) {
	s.Helper()
	client := s.configMaps()
	ctx, stop := context.WithCancel(s.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_, _ = client.Get(ctx, "nothing", metav1.GetOptions{}) // there is none, or ctx has ended
			_ = pause(ctx, still.Duration/20)
		}
	}()
	return sync.OnceFunc(func() {
		stop()
		<-ended
	})
}

var ofX = fault.Match{Verb: fault.Event, Resource: "configmaps", Name: "x", Type: "MODIFIED"}

// From an event on the operator sees nothing newer, until it is quiet; then it sees all, in order.
// What has to be the newest is.
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
		localtest.Within(v, time.Minute, "a frozen view", func(context.Context) error {
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
	})
}

// An operator whose view froze before a write does not see what it wrote, nor what came after.
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

// A view of one resource is frozen, others go on; and a view ends at the latest after its time,
// however busy the operator is.
func TestHoldOfOneResource(t *testing.T) {
	t.Parallel()
	f := fault.Fault{
		Kind: fault.Hold, View: "configmaps", On: fault.Match{Verb: "create", Resource: "secrets"},
		For: metav1.Duration{Duration: 4 * time.Second}, Quiet: metav1.Duration{Duration: 3 * time.Second}, // on a busy machine requests are far apart
	}
	inBoth(t, []fault.Fault{f}, func(v *viewer, direct typedcorev1.ConfigMapInterface) {
		secrets := kubernetes.NewForConfigOrDie(v.Proxy.Config()).CoreV1().Secrets(v.Namespace)
		stream, err := secrets.Watch(v.Context(), metav1.ListOptions{})
		v.must(err)
		defer stream.Stop()
		began := time.Now()
		_, err = secrets.Create(v.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
		v.must(err)
		v.write(direct, "x", "1")
		v.next(stream, "ADDED")
		for v.shown() == "" {
			_, err := secrets.Get(v.Context(), "s", metav1.GetOptions{})
			v.must(err)
			if time.Since(began) > time.Minute {
				v.Fatal("the view does not end")
			}
		}
		if took := time.Since(began); took < f.For.Duration {
			v.Errorf("the view ended after %s", took)
		}
	})
}

// What was held back is thrown away: the operator lists, and never sees the states in between.
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
		localtest.Within(v, time.Minute, "x3", func(context.Context) error {
			if got := v.shown(); !strings.Contains(got, "~x3") {
				return fmt.Errorf("shown is %s", got)
			}
			return nil
		})
		if got := v.shown(); strings.Contains(got, "x2") || strings.Contains(got, "-y") {
			v.Errorf("shown is %s", got)
		}
		v.write(direct, "x", "4")
		localtest.Within(v, time.Minute, "x4", func(context.Context) error {
			if got := v.shown(); !strings.HasSuffix(got, "~x4") {
				return fmt.Errorf("shown is %s", got)
			}
			return nil
		})
	})
}

// Watches end with 410, again and again, and nothing is lost.
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
			localtest.Within(v, time.Minute, "x"+n, func(context.Context) error {
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

// expired waits for the event that ends a watch whose past is forgotten.
func (s *stand) expired(stream watch.Interface) {
	s.Helper()
	select {
	case event := <-stream.ResultChan():
		if err := apierrors.FromObject(event.Object); event.Type != watch.Error || !apierrors.IsResourceExpired(err) {
			s.Errorf("the event is %s, %v", event.Type, err)
		}
	case <-time.After(time.Minute):
		s.Error("the watch goes on")
	}
}
