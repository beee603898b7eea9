package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/local/localtest"
)

// bookmarking starts a server whose watches show a change, and a later bookmark after a client has sent a get request.
// A real API server sends bookmarks once a minute, and a test cannot wait that long.
func bookmarking(t *testing.T) *rest.Config {
	t.Helper()
	asked := make(chan struct{})
	show := func(w http.ResponseWriter, kind string, version int) {
		fmt.Fprintf(w, `{"type":%q,"object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"%d"}}}`+"\n", kind, version)
		_ = http.NewResponseController(w).Flush() // the client may have disconnected
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "true" {
			close(asked)
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound)
			return
		}
		show(w, "ADDED", 10)
		<-asked
		show(w, "BOOKMARK", 12)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// A bookmark does not show a moment that is hidden from the operator.
func TestBookmarksWait(t *testing.T) {
	t.Parallel()
	script, err := fault.NewScript(fault.Fault{Kind: fault.Hold, Quiet: still, On: fault.Match{Verb: "get"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.Start(proxy.Options{Server: bookmarking(t), Script: script, Now: func() string { return "10" }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	client := kubernetes.NewForConfigOrDie(p.Config()).CoreV1().ConfigMaps("a")
	stream, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "9", AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	if event := localtest.Receive(t, "the first event", stream.ResultChan()); event.Type != watch.Added {
		t.Errorf("the first event is %s", event.Type)
	}
	began := time.Now()
	if _, err := client.Get(t.Context(), "x", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	select {
	case event := <-stream.ResultChan():
		if took := time.Since(began); event.Type != watch.Bookmark || took < still.Duration {
			t.Errorf("%s after %s", event.Type, took)
		}
	case <-time.After(localtest.Patience):
		t.Error("no bookmark")
	}
}
