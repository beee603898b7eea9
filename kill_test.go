package operon_test

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
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	steps "github.com/operon-framework/operon/journal"
	"github.com/operon-framework/operon/reconcile"
)

// Settings of the process that is killed.
const (
	killKubeconfig = "OPERON_TEST_KILL_KUBECONFIG"
	killNamespace  = "OPERON_TEST_KILL_NAMESPACE"
	killFiles      = "OPERON_TEST_KILL_FILES"  // folder of what steps make
	killObject     = "OPERON_TEST_KILL_OBJECT" // Box whose work ends the process
	killPoint      = "OPERON_TEST_KILL_POINT"  // at which of the points that it passes
)

// mortal is a process that kills itself at a point of the work on one Box: before and after each
// write to it, and before and after what each step does.
type mortal struct {
	files, object string
	at            int

	mu     sync.Mutex
	passed int
}

func (m *mortal) point(object string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if object != m.object {
		return
	}
	if m.passed++; m.passed == m.at {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {} // until it strikes
	}
}

// wrap passes a point before and after each write to a Box.
func (m *mortal) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
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

// makes is a step that makes a file under its key, in a folder of its Box. Doing so twice is seen.
func (m *mortal) makes(b *Box, name string) durable.Step[string] {
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

// working is a composer that is a function, and one that works.
type working struct {
	compose
	work func(context.Context, *Box, *durable.Run) error
}

func (w working) Work(ctx context.Context, b *Box, run *durable.Run) error {
	return w.work(ctx, b, run)
}

func nothing(*Box, *operon.Composition) error { return nil }

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
	m := &mortal{files: os.Getenv(killFiles), object: os.Getenv(killObject)}
	if m.at, err = strconv.Atoi(os.Getenv(killPoint)); err != nil {
		t.Fatal(err)
	}
	cluster.Wrap(m.wrap)
	work := func(ctx context.Context, b *Box, run *durable.Run) error {
		for _, name := range []string{"first", "last"} {
			if _, err := durable.Do(ctx, run, m.makes(b, name)); err != nil {
				return err
			}
		}
		return nil
	}
	err = operon.Run(t.Context(), "box-operator", cluster, operon.Config{Namespace: os.Getenv(killNamespace)},
		operon.API(addBox), operon.Manage(working{nothing, work}))
	if err != nil {
		t.Fatal(err)
	}
}

// Wherever a process is killed, in the work that it does for a Box, the next one brings it to the
// same end: what the steps make is there once, or none of it where the Box was deleted.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data map[string]string
		end  func(*Box) error // of a Box
		left int
		most int // points that there are at least; the last one may come after the end is seen
	}{
		"done":    {end: succeeded, left: 2, most: 13},
		"deleted": {data: map[string]string{"deleted": "yes"}, end: gone, left: 0, most: 17},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			k := killing{world: w, files: t.TempDir()}
			points := k.everywhere(test.data, test.end)
			if points < test.most {
				t.Errorf("the process was killed at %d points, want %d at least", points, test.most)
			}
			for _, b := range k.boxes {
				made, err := os.ReadDir(filepath.Join(k.files, b.Name))
				if err != nil || len(made) != test.left {
					t.Errorf("%s left %v, want %d files: %v", b.Name, made, test.left, err)
				}
			}
		})
	}
}

// killing kills a process at one point after the other, each time in the work on a new Box, after
// it has brought the one before to its end.
type killing struct {
	*world
	files string
	boxes []*Box
}

func (k *killing) everywhere(data map[string]string, end func(*Box) error) (points int) {
	k.Helper()
	for {
		b := &Box{ObjectMeta: k.meta(fmt.Sprintf("box-%d", len(k.boxes))), Spec: BoxSpec{Data: data}}
		process, died := k.start(b.Name, len(k.boxes)+1)
		for _, earlier := range k.boxes[max(0, len(k.boxes)-1):] {
			k.eventually("the end of "+earlier.Name, func(ctx context.Context) error { return k.ended(ctx, earlier, end) })
		}
		k.must(os.Mkdir(filepath.Join(k.files, b.Name), 0o700))
		k.must(k.client.Create(k.Context(), b))
		k.boxes = append(k.boxes, b)
		k.eventually("the process to be killed, or the work to end", func(ctx context.Context) error {
			select {
			case <-died:
				return nil
			default:
				return k.ended(ctx, b, end)
			}
		})
		select {
		case <-died:
			points++
			continue
		default:
		}
		k.must(process.Kill())
		<-died
		return points
	}
}

// start starts a process that is to die at a point of the work on a Box.
func (k *killing) start(object string, at int) (*os.Process, <-chan struct{}) {
	k.Helper()
	command := exec.CommandContext(k.Context(), os.Args[0], "-test.run=^TestAsMortal$")
	command.Env = append(os.Environ(), killKubeconfig+"="+k.Kubeconfig, killNamespace+"="+k.Namespace, killFiles+"="+k.files,
		killObject+"="+object, killPoint+"="+strconv.Itoa(at))
	k.must(command.Start())
	died := make(chan struct{})
	go func() {
		defer close(died)
		_ = command.Wait() // it is killed
	}()
	k.Cleanup(func() {
		_ = command.Process.Kill() // it may be dead
		<-died
	})
	return command.Process, died
}

func (k *killing) ended(ctx context.Context, b *Box, end func(*Box) error) error {
	now := &Box{}
	err := k.client.Get(ctx, client.ObjectKeyFromObject(b), now)
	if apierrors.IsNotFound(err) {
		return end(nil)
	}
	if err != nil {
		return err
	}
	return end(now)
}

// gone is the end of a Box that was deleted.
func gone(b *Box) error {
	if b != nil {
		return fmt.Errorf("%s is still there: %+v", b.Name, b.Status.Journal)
	}
	return nil
}

// succeeded is the end of a Box whose work was done.
func succeeded(b *Box) error {
	switch {
	case b == nil:
		return fmt.Errorf("it is gone")
	case b.Status.Journal == nil || b.Status.Journal.Phase != steps.Succeeded || controllerutil.ContainsFinalizer(b, reconcile.StepsFinalizer):
		return fmt.Errorf("%s has the finalizers %q and the journal %+v", b.Name, b.Finalizers, b.Status.Journal)
	}
	for _, step := range b.Status.Journal.Steps {
		if step.Attempts > 2 {
			return fmt.Errorf("the step %s of %s was begun %d times", step.Name, b.Name, step.Attempts)
		}
	}
	return nil
}
