package operon_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// olderCommit is the version of Operon from which TestDayTwo upgrades: the last release.
const olderCommit = "111224bacc8e5f38770d31bcf66fb4ea2912c0c9"

// dayTwo is the operator that the test builds with both versions.
const dayTwo = "testdata/daytwo"

// TestDayTwo runs an operator alternately with an older version of Operon and with this one, on the same objects: neither an
// upgrade nor a downgrade writes anything. Work that the older version began is completed by this one.
func TestDayTwo(t *testing.T) {
	t.Parallel()
	source := olderSource(t)
	w := newFixture(t)
	older, newer := filepath.Join(t.TempDir(), "older"), filepath.Join(t.TempDir(), "newer")
	w.build(source, "./daytwo", older)
	w.build(".", "./"+dayTwo, newer)

	d := dayTwoWorld{w, t.TempDir()}
	t.Cleanup(d.abandon)
	done, waiting := w.Box("done", nil), w.Box("waiting", map[string]string{"door": "door"})
	_, stop := d.run(older)
	w.IsReady(done)
	w.Ready(waiting, metav1.ConditionFalse, durable.ReasonWaiting, "for the door")
	stop()
	for _, binary := range []string{newer, older, newer} {
		requests, stop := d.run(binary)
		if writes := requests.Writes(); len(writes) > 0 {
			t.Errorf("the %s version wrote %q", filepath.Base(binary), writes)
		}
		stop()
	}

	_, stop = d.run(newer)
	defer stop()
	w.Must(w.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: w.Meta("door")}))
	w.IsReady(waiting)
	if j := waiting.Status.Journal; j.Phase != journal.Succeeded || j.Steps[0].Attempts != 1 {
		t.Errorf("the workflow that the older version began ended with %+v", j)
	}
	d.leavesNothing(done, waiting)
}

// olderSource returns a directory with the root module of the older version and the operator of the test.
func olderSource(t *testing.T) string {
	t.Helper()
	git := func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "git", append([]string{"-C", ".."}, args...)...)
	}
	if shallow, err := git("rev-parse", "--is-shallow-repository").Output(); err != nil || strings.TrimSpace(string(shallow)) != "false" {
		t.Skipf("there is no complete git history to build an older version from (%v): clone the repository without --depth", err)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "older.tar")
	steps := []*exec.Cmd{
		git("archive", "--output", archive, olderCommit, ".", ":!examples", ":!cluster", ":!bench", ":!docs"),
		exec.CommandContext(t.Context(), "tar", "-xf", archive, "-C", dir),
	}
	for _, step := range steps {
		if output, err := step.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", step.Args, err, output)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "daytwo"), os.DirFS(dayTwo)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w *fixture) build(dir, what, binary string) {
	w.Helper()
	command := exec.CommandContext(w.Context(), "go", "build", "-ldflags=-w", "-o", binary, what)
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		w.Fatalf("build %s in %s: %v\n%s", what, dir, err, output)
	}
}

// dayTwoWorld is a fixture with an external system that is shared by all operators.
type dayTwoWorld struct {
	*fixture
	files string
}

// run starts the operator, and returns its requests when it has reconciled each Box and sends no more requests.
func (d dayTwoWorld) run(binary string) (requests *boxtest.Traffic, stop func()) {
	d.Helper()
	requests = &boxtest.Traffic{}
	server := d.proxy(requests)
	command := exec.Command(binary, server.URL, d.Namespace, d.files)
	out, err := command.StdoutPipe()
	d.Must(err)
	command.Stderr = d.Output()
	d.Must(command.Start())
	left := &reconciled{names: map[string]bool{"done": true, "waiting": true}}
	ended := make(chan error, 1)
	go func() {
		left.read(bufio.NewScanner(out))
		ended <- command.Wait()
	}()
	stop = sync.OnceFunc(func() {
		if err := errors.Join(command.Process.Signal(syscall.SIGTERM), <-ended); err != nil {
			d.Errorf("%s: %v", binary, err)
		}
		server.Close()
	})
	d.Cleanup(stop)
	d.Eventually("each Box to be reconciled", func(context.Context) error { return left.check() })
	d.Quiet(requests.Everything)
	return requests, stop
}

// proxy starts a proxy that records the requests of a process.
func (d dayTwoWorld) proxy(requests *boxtest.Traffic) *httptest.Server {
	config := rest.CopyConfig(d.Config)
	config.Wrap(requests.Count)
	transport, err := rest.TransportFor(config)
	d.Must(err)
	target, err := url.Parse(config.Host)
	d.Must(err)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
	})
	d.Cleanup(server.Close)
	return server
}

// leavesNothing deletes Boxes and waits until their finalizers, external resources and child objects outside of the namespace
// are removed.
func (d dayTwoWorld) leavesNothing(all ...*boxtest.Box) {
	d.Helper()
	d.RemoveBoxes()
	if files, err := os.ReadDir(d.files); err != nil || len(files) > 0 {
		d.Errorf("the external system has %v: %v", files, err)
	}
	for _, b := range all {
		role := &rbacv1.ClusterRole{}
		if err := d.Client.Get(d.Context(), client.ObjectKey{Name: d.Namespace + "-" + b.Name}, role); !apierrors.IsNotFound(err) {
			d.Errorf("the ClusterRole of %s is left: %v", b.Name, err)
		}
	}
}

// abandon removes the finalizers of objects that a failed test leaves, because no operator runs for them.
func (d dayTwoWorld) abandon() {
	ctx := d.Afterwards().Context()
	var left boxtest.BoxList
	d.Must(d.Client.List(ctx, &left, client.InNamespace(d.Namespace)))
	for i := range left.Items {
		d.Must(d.Client.Patch(ctx, &left.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	}
}

// reconciled contains the Boxes that a process has not reported yet.
type reconciled struct {
	mu    sync.Mutex
	names map[string]bool
}

func (r *reconciled) read(lines *bufio.Scanner) {
	for lines.Scan() {
		r.mu.Lock()
		delete(r.names, strings.TrimPrefix(lines.Text(), "reconciled "))
		r.mu.Unlock()
	}
}

func (r *reconciled) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.names) > 0 {
		return fmt.Errorf("not yet: %v", r.names)
	}
	return nil
}
