package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/prove/fault"
	"github.com/operon-framework/operon/prove/proxy"
)

// bookmarking is a server whose watches show a change, a bookmark beyond it, and another change, as an
// API server does once a minute, for which a test cannot wait. A get answers that there is nothing.
func bookmarking(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "true" {
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound)
			return
		}
		for _, event := range []string{"ADDED 10", "MODIFIED 11", "BOOKMARK 12", "MODIFIED 13"} {
			var kind string
			var version int
			_, _ = fmt.Sscanf(event, "%s %d", &kind, &version) // it is as above
			fmt.Fprintf(w, `{"type":%q,"object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"%d"}}}`+"\n", kind, version)
		}
		_ = http.NewResponseController(w).Flush() // to whoever is still there
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// A bookmark does not tell of a moment whose changes are held back.
func TestBookmarksWait(t *testing.T) {
	t.Parallel()
	script, err := fault.NewScript(fault.Fault{Kind: fault.Hold, Quiet: still, On: fault.Match{Verb: fault.Event, Type: "MODIFIED"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.Start(proxy.Options{Server: bookmarking(t), Script: script})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	stream, err := kubernetes.NewForConfigOrDie(p.Config()).CoreV1().ConfigMaps("a").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "9", AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	var before time.Time
	for i, want := range []watch.EventType{watch.Added, watch.Modified, watch.Bookmark, watch.Modified} {
		select {
		case event := <-stream.ResultChan():
			if event.Type != want {
				t.Errorf("event %d is %s, want %s", i, event.Type, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no event %d", i)
		}
		if i == 1 && time.Since(before) < still.Duration/2 {
			t.Errorf("it was held back for %s only", time.Since(before))
		}
		before = time.Now()
	}
}
