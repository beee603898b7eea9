package sim

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// notebook is a handler that records its calls and returns the given answers.
type notebook struct {
	mu      sync.Mutex
	handled []string // versions
	known   []string // names
	answers []answer // one for each call, then an empty one
	during  func()   // is called in the first call
}

type answer struct {
	again time.Duration
	err   error
}

func (n *notebook) handle(_ context.Context, pod *corev1.Pod) (time.Duration, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handled = append(n.handled, pod.ResourceVersion)
	if n.during != nil {
		n.during()
		n.during = nil
	}
	if len(n.answers) == 0 {
		return 0, nil
	}
	first := n.answers[0]
	n.answers = n.answers[1:]
	return first.again, first.err
}

func (n *notebook) seen(pod *corev1.Pod) { n.known = append(n.known, pod.Name) }

func (n *notebook) gone(pod *corev1.Pod) {
	n.known = slices.DeleteFunc(n.known, func(name string) bool { return name == pod.Name })
}

func (n *notebook) only(pods []*corev1.Pod) {
	n.known = nil
	for _, pod := range pods {
		n.seen(pod)
	}
}

func version(v string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: v}}
}

func testFeed(answers ...answer) (*feed[*corev1.Pod], *notebook) {
	n := &notebook{answers: answers}
	return newFeed(nil, n, 1, slog.New(slog.DiscardHandler)), n
}

// drain runs the feed until nothing is waiting, and stops it.
func drain(t *testing.T, f *feed[*corev1.Pod], n *notebook, versions ...string) {
	t.Helper()
	for range versions {
		f.work(t.Context())
	}
	f.queue.ShutDown()
	if f.work(t.Context()) {
		t.Error("the feed works after its end")
	}
	if !slices.Equal(n.handled, versions) {
		t.Errorf("handled versions %v: want %v", n.handled, versions)
	}
}

func TestFeedSkipsToTheNewestVersion(t *testing.T) {
	t.Parallel()
	f, n := testFeed()
	f.Add(version("1"))
	f.Update(version("2"))
	drain(t, f, n, "2")
	if len(f.newest) != 0 {
		t.Errorf("%d objects are kept", len(f.newest))
	}
}

func TestFeedRetries(t *testing.T) {
	t.Parallel()
	f, n := testFeed(answer{err: errors.New("no")}, answer{err: errors.New("still no")})
	f.Add(version("1"))
	drain(t, f, n, "1", "1", "1")
}

func TestFeedAsksAgain(t *testing.T) {
	t.Parallel()
	f, n := testFeed(answer{again: time.Millisecond})
	f.Add(version("1"))
	drain(t, f, n, "1", "1")
}

func TestFeedPrefersANewerVersionToARetry(t *testing.T) {
	t.Parallel()
	f, n := testFeed(answer{err: errors.New("no")})
	f.Add(version("1"))
	f.work(t.Context())
	f.Update(version("2"))
	f.work(t.Context())
	f.queue.ShutDown()
	if want := []string{"1", "2"}; !slices.Equal(n.handled, want) || len(f.newest) != 0 {
		t.Errorf("handled %v, %d waiting: want %v and none", n.handled, len(f.newest), want)
	}
}

// An object that was listed replaces only an older version, also if the newer one waits for a later call.
func TestFeedKeepsANewerVersion(t *testing.T) {
	t.Parallel()
	f, n := testFeed(answer{again: time.Hour})
	f.Add(version("9"))
	f.remind(version("8"))
	f.work(t.Context())
	f.remind(version("8"))
	f.Add(version("9"))
	f.remind(version("10"))
	f.work(t.Context())
	f.queue.ShutDown()
	if want := []string{"9", "10"}; !slices.Equal(n.handled, want) {
		t.Errorf("handled versions %v: want %v", n.handled, want)
	}
}

// A listed object that arrives while a newer version is being handled does not replace that for the next call.
func TestFeedPutsANewerVersionBack(t *testing.T) {
	t.Parallel()
	f, n := testFeed(answer{again: time.Hour})
	f.Add(version("9"))
	n.during = func() { f.remind(version("8")) }
	drain(t, f, n, "9", "9")
}

func TestFeedForgetsWhatIsGone(t *testing.T) {
	t.Parallel()
	f, n := testFeed()
	f.Add(version("1"))
	f.Delete(version("1"))
	f.work(t.Context())
	if len(n.handled) != 0 || len(n.known) != 0 {
		t.Errorf("handled %v, known %v: want neither", n.handled, n.known)
	}
}

func TestFeedReplacesEverything(t *testing.T) {
	t.Parallel()
	f, n := testFeed()
	f.Add(version("1"))
	other := version("2")
	other.Name = "db"
	if err := f.Replace([]any{other}, ""); err != nil {
		t.Fatal(err)
	}
	if _, waits := f.take(nameOf(version("1"))); waits || !slices.Equal(n.known, []string{"db"}) {
		t.Errorf("the old object waits: %t; known: %v", waits, n.known)
	}
}
