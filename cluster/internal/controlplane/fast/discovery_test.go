package fast

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// looks records when the server was queried.
type looks struct {
	discovery.ServerResourcesInterface
	start time.Time
	at    []string
}

func (l *looks) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	l.at = append(l.at, fmt.Sprint(time.Since(l.start)))
	return nil, nil
}

// Without news, the server is queried every 30 s. After news, it is queried a moment later, once for all news of that moment,
// and then at growing intervals.
func TestHeldDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		news, done := make(chan struct{}, 1), make(chan struct{})
		server := &looks{start: time.Now()}
		held := &heldDiscovery{ServerResourcesInterface: server, news: news, done: done}
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			for {
				held.ServerPreferredResources()
				select {
				case <-done:
					return
				case <-time.After(timing.newKindsPause): // as Sync does
				}
			}
		}()
		time.Sleep(2 * time.Minute)
		idle := server.at
		server.start, server.at = time.Now(), nil
		for range 3 {
			leave(news)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		close(done)
		<-asked

		if want := []string{"0s", "30.15s", "1m0.3s", "1m30.45s"}; !slices.Equal(idle, want) {
			t.Errorf("without news asked at %s, want %s", idle, want)
		}
		if want := []string{"30ms", "330ms", "780ms"}; !slices.Equal(server.at[:min(3, len(server.at))], want) {
			t.Errorf("with news asked at %s, want %s first", server.at, want)
		}
	})
}
