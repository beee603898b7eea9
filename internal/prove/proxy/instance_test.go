package proxy_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/local/localtest"
)

// instance creates an instance whose token is in a file.
func (s *stand) instance() (*proxy.Instance, string) {
	s.Helper()
	file := filepath.Join(s.TempDir(), "token")
	i, err := s.NewInstance(file)
	s.must(err)
	return i, file
}

func TestEachInstanceHasANumberAndAToken(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	one, file := s.instance()
	two, err := s.NewInstance("")
	s.must(err)
	token, err := os.ReadFile(file)
	s.must(err)
	if one.Number() == two.Number() || one.Token() == two.Token() || string(token) != one.Token() {
		t.Errorf("instances %d and %d, tokens %q, %q and %q", one.Number(), two.Number(), one.Token(), two.Token(), token)
	}
	for name, i := range map[string]*proxy.Instance{"one": one, "two": two} {
		content, err := i.Kubeconfig("")
		s.must(err)
		config, err := clientcmd.RESTConfigFromKubeConfig(content)
		s.must(err)
		_, err = s.configMaps(config).Create(t.Context(), configMap(name, nil), metav1.CreateOptions{})
		s.must(err)
		if r := s.recorded("create", name); r.Instance != i.Number() {
			t.Errorf("%s is recorded as sent by %d, want %d", name, r.Instance, i.Number())
		}
	}
	if _, err := s.NewInstance(filepath.Join(s.TempDir(), "missing", "token")); err == nil {
		t.Error("a token was written into a directory that is not there")
	}
}

// A revoked instance receives no more responses and its watches end. The other instance continues.
func TestRevoke(t *testing.T) {
	t.Parallel()
	for protocol, next := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			one, _ := s.instance()
			two, _ := s.instance()
			clients := map[*proxy.Instance]typedcorev1.ConfigMapInterface{}
			for _, i := range []*proxy.Instance{one, two} {
				config := i.Config()
				config.NextProtos = next
				clients[i] = s.configMaps(config)
			}
			ended, goesOn := s.watched(clients[one]), s.watched(clients[two])
			one.Revoke()
			one.Revoke()
			select {
			case <-ended:
			case <-time.After(localtest.Patience):
				t.Error("the watch goes on")
			}
			before := s.Record().Number()
			if _, err := clients[one].Create(t.Context(), configMap("one", nil), metav1.CreateOptions{}); err == nil {
				t.Error("a revoked instance was answered")
			}
			_, err := clients[two].Create(t.Context(), configMap("two", nil), metav1.CreateOptions{})
			s.must(err)
			if s.there("one") || s.recorded("create", "two").Seq != before+1 {
				t.Error("a request of a revoked instance came through, or is in the record")
			}
			select {
			case <-goesOn:
				t.Error("the watch of the other instance ended")
			default:
			}
		})
	}
}

// watched starts a watch and returns a channel that is closed when the watch ends.
func (s *stand) watched(client typedcorev1.ConfigMapInterface) <-chan struct{} {
	s.Helper()
	stream, err := client.Watch(s.Context(), metav1.ListOptions{})
	s.must(err)
	s.Cleanup(stream.Stop)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range stream.ResultChan() { // until the end
		}
	}()
	return ended
}

// An operator in a test has no client-side rate limit, like a program. The default limit of client-go, five requests per
// second, would hide an operator that sends too many requests.
func TestNoLimitOfTheClient(t *testing.T) {
	t.Parallel()
	i, _ := newStand(t).instance()
	client, err := kubernetes.NewForConfig(i.Config())
	if err != nil {
		t.Fatal(err)
	}
	if limit := client.CoreV1().RESTClient().GetRateLimiter(); limit != nil {
		t.Errorf("the connection is limited to %v requests a second", limit.QPS())
	}
}

// When Revoke returns, the result of each write is known, regardless of how many were in progress.
func TestNothingArrivesAfterRevoke(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	i, _ := s.instance()
	client := s.configMaps(i.Config())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var sent atomic.Int32
	for range 8 {
		go func() {
			for ctx.Err() == nil {
				made := configMap("", nil)
				made.GenerateName = "x-"
				if _, err := client.Create(ctx, made, metav1.CreateOptions{}); err == nil {
					sent.Add(1)
				}
			}
		}()
	}
	for sent.Load() < 50 {
		s.must(pause(ctx, time.Millisecond))
	}
	i.Revoke()
	at := s.made()
	changed := 0
	for _, r := range s.Record().Requests() {
		switch {
		case r.Effect == requestlog.Changed:
			changed++
		case r.Effect != requestlog.Unchanged:
			t.Errorf("the effect of %s is %q: %s", r.String(), r.Effect, r.Error)
		}
	}
	s.must(pause(ctx, 300*time.Millisecond))
	if after := s.made(); at != after || at != changed {
		t.Errorf("%d objects at the revocation, %d a while later, %d recorded", at, after, changed)
	}
}

// made returns the number of objects that the clients of the test have created.
func (s *stand) made() (n int) {
	s.Helper()
	list, err := s.configMaps(s.Env.Config).List(s.Context(), metav1.ListOptions{})
	s.must(err)
	for _, each := range list.Items {
		if each.GenerateName != "" {
			n++
		}
	}
	return n
}

// The function that kills the operator can revoke its instance from within a request of that instance.
func TestRevokeByAKill(t *testing.T) {
	t.Parallel()
	for _, moment := range []fault.Moment{fault.Before, fault.Effect, fault.Answer} {
		t.Run(string(moment), func(t *testing.T) {
			t.Parallel()
			var i *proxy.Instance
			killed := make(chan bool)
			s := standWith(t, proxy.Options{Kill: func() { i.Revoke(); close(killed) }}, fault.Fault{Kind: fault.Kill, Moment: moment, On: creations})
			i, _ = s.instance()
			client := s.configMaps(i.Config())
			_, err := client.Create(t.Context(), configMap("one", nil), metav1.CreateOptions{})
			s.must(err)
			_, err = client.Create(t.Context(), configMap("two", nil), metav1.CreateOptions{})
			if (err == nil) != (moment == fault.Answer) {
				t.Errorf("answered with %v", err)
			}
			select {
			case <-killed:
			case <-time.After(localtest.Patience):
				t.Fatal("the revocation does not return")
			}
			if _, err := client.Get(t.Context(), "one", metav1.GetOptions{}); err == nil {
				t.Error("a killed instance was answered")
			}
		})
	}
}

// A token of the proxy is never forwarded to the server, regardless of the client that sends it.
func TestTokensStayHere(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	i, _ := s.instance()
	direct := rest.AnonymousClientConfig(s.Env.Config)
	direct.BearerToken = i.Token()
	if _, err := s.configMaps(direct).Get(t.Context(), "x", metav1.GetOptions{}); err == nil {
		t.Error("the server takes a token of the proxy")
	}
}
