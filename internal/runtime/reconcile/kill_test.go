package reconcile_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// Settings of the process that is killed.
const (
	killKubeconfig = "OPERON_TEST_KILL_KUBECONFIG"
	killNamespace  = "OPERON_TEST_KILL_NAMESPACE"
	killFiles      = "OPERON_TEST_KILL_FILES" // directory of the files that steps create
)

// mortal is an operator whose work on a Box stops at a point whose number is at the end of the Box's name. There is a point
// before and after each write to the Box, and before and after the action of each step. Therefore one SIGKILL interrupts each
// Box at a different point.
type mortal struct {
	files string
	safe  bool // it stops at no point

	mu     sync.Mutex
	passed map[string]int
}

func (m *mortal) point(object string) {
	if m.safe {
		return
	}
	m.mu.Lock()
	m.passed[object]++
	_, at, _ := strings.Cut(object, "-")
	last, err := strconv.Atoi(at)
	here := err == nil && m.passed[object] >= last
	m.mu.Unlock()
	if !here {
		return
	}
	if err := os.WriteFile(reached(m.files, object), nil, 0o600); err != nil {
		panic(err) // the test waits for that file and reports its absence
	}
	select {} // until it is killed
}

// boxAt returns the name of the Box whose work is killed at a point.
func boxAt(point int) string { return fmt.Sprintf("box-%d", point) }

// reached returns the file that shows that the work on a Box is at its point.
func reached(files, object string) string { return filepath.Join(files, object+".reached") }

// wrap adds a point before and after each write to a Box.
func (m *mortal) wrap(next http.RoundTripper) http.RoundTripper {
	return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
		_, path, ofBox := strings.Cut(r.URL.Path, "/boxes/")
		if !ofBox || r.Method != http.MethodPatch {
			return next.RoundTrip(r)
		}
		object, _, _ := strings.Cut(path, "/")
		m.point(object)
		answer, err := next.RoundTrip(r)
		m.point(object)
		return answer, err
	})
}

// makes returns a step that creates a file with its key as the name in the directory of its Box. Creating it twice is detected.
func (m *mortal) makes(b *boxtest.Box, name string) durable.Step[string] {
	file := func(a *durable.Attempt) string { return filepath.Join(m.files, b.Name, name+"-"+a.Key) }
	return durable.Step[string]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (string, error) {
			m.point(b.Name)
			made, err := os.OpenFile(file(a), os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			m.point(b.Name)
			if name == "last" && b.Spec.Data["deleted"] != "" {
				if err := client.IgnoreNotFound(a.Client.Delete(ctx, b)); err != nil {
					return "", err
				}
				return "", durable.Wait("for the end")
			}
			return name, made.Close()
		},
		Undo: func(_ context.Context, a *durable.Attempt, _ string) error {
			m.point(b.Name)
			if err := os.Remove(file(a)); err != nil && !os.IsNotExist(err) {
				return err
			}
			m.point(b.Name)
			return nil
		},
	}
}

// work executes two steps.
func (m *mortal) work(ctx context.Context, b *boxtest.Box, run *durable.Run) error {
	for _, name := range []string{"first", "last"} {
		if _, err := durable.Do(ctx, run, m.makes(b, name)); err != nil {
			return err
		}
	}
	return nil
}

const (
	// spare is the number of additional points that may exist, because several reports may be combined in one write.
	spare = 12
	// mostBoxes is the maximum number of Boxes that wait at a point: each occupies a worker.
	mostBoxes = 32
)

// TestAsMortal is the process that TestKilledAnywhere kills.
func TestAsMortal(t *testing.T) {
	t.Parallel()
	if os.Getenv(killKubeconfig) == "" {
		t.Skip("it is the operator of TestKilledAnywhere")
	}
	cluster, err := clientcmd.BuildConfigFromFlags("", os.Getenv(killKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	m := &mortal{files: os.Getenv(killFiles), passed: map[string]int{}}
	cluster.Wrap(m.wrap)
	err = operon.Run(t.Context(), "box-operator", cluster, operon.Config{Namespace: os.Getenv(killNamespace)},
		operon.API(boxtest.AddToScheme), operon.Manage(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: m.work}, operon.Concurrency(mostBoxes)))
	if err != nil {
		t.Fatal(err)
	}
}

// Regardless of the point at which a process is killed in its work for a Box, the next process reaches the same result: the
// results of the steps exist once, or not at all if the Box was deleted.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data map[string]string
		end  func(*boxtest.Box) error // of a Box
		left int
		most int // the minimum number of points; the last one may be reached after the end is visible
	}{
		"done":    {end: succeeded, left: 2, most: 13},
		"deleted": {data: map[string]string{"deleted": "yes"}, end: gone, left: 0, most: 17},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := killing{fixture: newFixture(t), files: t.TempDir(), end: test.end}
			points := k.everywhere(test.most+spare, test.data)
			if points < test.most || points >= len(k.boxes) {
				t.Errorf("the process was killed at %d points, want %d at least, and fewer than the %d Boxes", points, test.most, len(k.boxes))
			}
			t.Logf("killed at %d points", points)
			k.Run(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: (&mortal{files: k.files, safe: true}).work})
			for _, b := range k.boxes {
				k.Eventually("the end of "+b.Name, func(ctx context.Context) error { return k.ended(ctx, b) })
				made, err := os.ReadDir(filepath.Join(k.files, b.Name))
				if err != nil || len(made) != test.left {
					t.Errorf("%s left %v, want %d files: %v", b.Name, made, test.left, err)
				}
			}
		})
	}
}

// killing kills a process while it works on several Boxes, each at a different point.
type killing struct {
	*fixture
	files string
	end   func(*boxtest.Box) error
	boxes []*boxtest.Box
}

// everywhere returns the number of points at which the process was killed. The last Boxes have no point left, and their work
// ends.
func (k *killing) everywhere(boxes int, data map[string]string) (points int) {
	k.Helper()
	process, died := k.start()
	for i := range boxes {
		b := &boxtest.Box{ObjectMeta: k.Meta(boxAt(i + 1)), Spec: boxtest.BoxSpec{Data: data}}
		k.Must(os.Mkdir(filepath.Join(k.files, b.Name), 0o700))
		k.Must(k.Client.Create(k.Context(), b))
		k.boxes = append(k.boxes, b)
	}
	for _, b := range k.boxes {
		k.Eventually(b.Name+" to be at its point or over", func(ctx context.Context) error {
			if k.reached(b) {
				return nil
			}
			return k.ended(ctx, b)
		})
	}
	k.Must(process.Kill())
	<-died
	for _, b := range k.boxes {
		if k.reached(b) {
			points++
		}
	}
	return points
}

func (k *killing) reached(b *boxtest.Box) bool {
	_, err := os.Stat(reached(k.files, b.Name))
	return err == nil
}

// start starts the process that will be killed.
func (k *killing) start() (*os.Process, <-chan struct{}) {
	k.Helper()
	command := exec.CommandContext(k.Context(), os.Args[0], "-test.run=^TestAsMortal$")
	command.Env = append(os.Environ(), killKubeconfig+"="+k.Kubeconfig, killNamespace+"="+k.Namespace, killFiles+"="+k.files)
	k.Must(command.Start())
	died := make(chan struct{})
	go func() {
		defer close(died)
		_ = command.Wait() // it is killed
	}()
	k.Cleanup(func() {
		_ = command.Process.Kill() // it may already have ended
		<-died
	})
	return command.Process, died
}

func (k *killing) ended(ctx context.Context, b *boxtest.Box) error {
	now := &boxtest.Box{}
	err := k.Client.Get(ctx, client.ObjectKeyFromObject(b), now)
	if apierrors.IsNotFound(err) {
		return k.end(nil)
	}
	if err != nil {
		return err
	}
	return k.end(now)
}

// gone checks that a Box was deleted.
func gone(b *boxtest.Box) error {
	if b != nil {
		return fmt.Errorf("%s is still there: %+v", b.Name, b.Status.Journal)
	}
	return nil
}

// succeeded checks that the work of a Box succeeded.
func succeeded(b *boxtest.Box) error {
	switch {
	case b == nil:
		return fmt.Errorf("it is gone")
	case b.Status.Journal == nil || b.Status.Journal.Phase != journal.Succeeded || controllerutil.ContainsFinalizer(b, reconcile.StepsFinalizer):
		return fmt.Errorf("%s has the finalizers %q and the journal %+v", b.Name, b.Finalizers, b.Status.Journal)
	}
	for _, step := range b.Status.Journal.Steps {
		if step.Attempts > 2 {
			return fmt.Errorf("the step %s of %s was begun %d times", step.Name, b.Name, step.Attempts)
		}
	}
	return nil
}
