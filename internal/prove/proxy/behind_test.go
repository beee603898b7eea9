package proxy_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/local/localtest"
)

// A watch is behind until it has shown the changes that it selects, and only while it is open.
func TestBehind(t *testing.T) {
	t.Parallel()
	gate := &localtest.Gate{}
	s := newStandBehind(t, gate)
	all := s.watchMaps(metav1.ListOptions{})
	red := s.watchMaps(metav1.ListOptions{LabelSelector: "colour=red"})
	one := s.watchMaps(metav1.ListOptions{FieldSelector: "metadata.name=one"})
	before := s.news(configMap("before", nil))
	s.shows(all, "before")
	s.expectBehind(false, before)

	gate.Shut()
	coloured := configMap("red", nil)
	coloured.Labels = map[string]string{"colour": "red"}
	reds, other := s.news(coloured), s.news(configMap("other", nil))
	s.expectBehind(true, reds)
	s.expectBehind(true, before, other)
	all.Stop()
	s.oneEnded()
	s.expectBehind(true, reds) // because of the watch that selects it
	s.expectBehind(false, other)
	s.expectBehind(true, s.news(configMap("one", nil)))
	elsewhere := reds
	elsewhere.Namespace = "elsewhere"
	s.expectBehind(false, elsewhere)
	elsewhere = reds
	elsewhere.Resource.Resource = "secrets"
	s.expectBehind(false, elsewhere)

	gate.Open()
	s.shows(red, "red")
	s.shows(one, "one")
	s.expectBehind(false, reds, other)
}

// A watch that begins with the existing objects has not reached any change before it has shown all of them.
func TestBehindFromTheBeginning(t *testing.T) {
	t.Parallel()
	gate := &localtest.Gate{}
	s := newStandBehind(t, gate)
	made := s.news(configMap("made", nil))
	gate.Shut()
	yes := true
	beginning := s.watchMaps(metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	s.expectBehind(true, made)
	if now, _ := s.Activity(); now.Opening != 1 {
		t.Errorf("%d watches begin, want 1", now.Opening)
	}
	gate.Open()
	s.shows(beginning, "made")
	s.expectBehind(false, made)
	if now, _ := s.Activity(); now.Opening != 0 {
		t.Errorf("%d watches begin when it has begun", now.Opening)
	}
}

// newStandBehind returns a proxy whose watches of the API server pass through a gate.
func newStandBehind(t *testing.T, gate *localtest.Gate) *stand {
	t.Helper()
	return standWith(t, proxy.Options{Server: gate.Config(localtest.Shared(t).Config)})
}

func (s *stand) watchMaps(options metav1.ListOptions) watch.Interface {
	s.Helper()
	w, err := s.configMaps().Watch(s.Context(), options)
	s.must(err)
	s.Cleanup(w.Stop)
	return w
}

// news creates a ConfigMap without the proxy and returns this change.
func (s *stand) news(object *corev1.ConfigMap) proxy.News {
	s.Helper()
	made, err := s.configMaps(s.Env.Config).Create(s.Context(), object, metav1.CreateOptions{})
	s.must(err)
	return proxy.News{
		Resource:  schema.GroupResource{Resource: "configmaps"},
		Namespace: made.Namespace, Name: made.Name, Labels: made.Labels, Version: made.ResourceVersion,
	}
}

// shows waits until a watch shows an object.
func (s *stand) shows(w watch.Interface, name string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), localtest.Patience)
	defer cancel()
	for {
		select {
		case event := <-w.ResultChan():
			if object, ok := event.Object.(*corev1.ConfigMap); ok && object.Name == name {
				return
			}
		case <-ctx.Done():
			s.Fatalf("%s is not shown", name)
		}
	}
}

// oneEnded waits until the proxy knows that a watch has ended.
func (s *stand) oneEnded() {
	s.Helper()
	localtest.Eventually(s, "the end of a watch", func(context.Context) error {
		for _, r := range s.Record().Requests() {
			if r.Verb == "watch" {
				return nil
			}
		}
		return errors.New("all are open")
	})
}

func (s *stand) expectBehind(want bool, news ...proxy.News) {
	s.Helper()
	localtest.Eventually(s, "the watches to be behind, or not", func(context.Context) error {
		if s.Behind(news...) != want {
			return errors.New("it is the other way around")
		}
		return nil
	})
}
