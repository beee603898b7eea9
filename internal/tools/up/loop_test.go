package up_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

func stateHome(t *testing.T) string {
	t.Helper()
	home, err := local.Home()
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// running is a Run in Loop mode.
type running struct {
	out  *os.File
	stop context.CancelFunc
	done chan error
}

func (f *fixture) loop(t *testing.T) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{out: tempFile(t), stop: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- up.Run(ctx, up.Options{Dir: f.dir, Where: f.where(), Stdout: r.out, Stderr: r.out})
	}()
	t.Cleanup(func() { r.end(t) })
	return r
}

// end stops it like Ctrl-C.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		t.Errorf("it ended with %v", err)
	}
	r.done <- nil
}

// says waits until the output contains all words.
func (r *running) says(t *testing.T, words ...string) {
	t.Helper()
	localtest.Eventually(t, "the output", func(context.Context) error { return lacks(contents(t, r.out), words...) })
}

func (f *fixture) hasSize(t *testing.T, want int64) {
	t.Helper()
	localtest.Eventually(t, fmt.Sprintf("size %d in the status", want), func(ctx context.Context) error {
		gadget, err := f.gadgets(t).Get(ctx, "one", getOptions)
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedInt64(gadget.Object, "status", "size"); got != want {
			return fmt.Errorf("it is %d", got)
		}
		return nil
	})
}

func TestLoopTakesUpEveryChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.loop(t)
	r.says(t, "operator running", "operator | VERSION one", "object   Gadget "+f.env.Namespace+"/one: Ready: all made", "object   ConfigMap "+f.env.Namespace+"/one: Ready")

	f.edit(t, "config/samples/gadget.yaml", "size: 3", "size: 4")
	f.hasSize(t, 4)

	f.edit(t, "config/samples/gadget.yaml", "size: 4", "size: 44")
	r.says(t, "problem  config/samples/gadget.yaml:7: spec.size: Invalid value")
	f.edit(t, "config/samples/gadget.yaml", "size: 44", "size: 5")
	r.says(t, "solved   config/samples/gadget.yaml:7: spec.size")
	f.hasSize(t, 5)

	f.edit(t, "config/crd/gadgets.yaml", "maximum: 9", "maximum: 99")
	f.edit(t, "config/samples/gadget.yaml", "size: 5", "size: 50")
	f.hasSize(t, 50)

	f.edit(t, "main.go", "VERSION one", "VERSION \" two")
	r.says(t, "problem  the operator does not compile; the previous build keeps running", "./main.go:50")
	f.edit(t, "main.go", "VERSION \" two", "VERSION two")
	r.says(t, "operator | VERSION two", "solved   the operator does not compile")

	f.edit(t, "main.go", "VERSION two\")", "VERSION three\"); panic(\"ouch\")")
	r.says(t, "problem  the operator exited with code 2", "panic: ouch", "restarting in 2s")
	f.edit(t, "main.go", "VERSION three\"); panic(\"ouch\")", "VERSION four\")")
	r.says(t, "operator | VERSION four", "solved   the operator exited")

	r.end(t)
	if err := lacks(contents(t, r.out), "operator stopped; the cluster is still running"); err != nil {
		t.Error(err)
	}
	f.noOperator(t)
}

// Samples of the kinds of the operator's own permissions stay when something else changes.
func TestLoopKeepsSamplesThatGrantPermissions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sample := fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewers, namespace: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]
`, f.env.Namespace)
	if err := os.WriteFile(filepath.Join(f.dir, "config", "samples", "viewers.yaml"), []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	f.loop(t)
	f.hasSize(t, 3)
	f.edit(t, "config/samples/gadget.yaml", "size: 3", "size: 4")
	f.hasSize(t, 4)
	if _, err := f.client(t).RbacV1().RoleBindings(f.env.Namespace).Get(t.Context(), "viewers", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// Edits while the operator is still being built, before the loop starts, are applied, too.
func TestLoopTakesUpWhatChangesWhileItStarts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.loop(t)
	r.says(t, "installed ")
	f.edit(t, "config/samples/gadget.yaml", "size: 3", "size: 4")
	f.hasSize(t, 4)
}

func TestLoopShowsAMissingRuleUntilItIsThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.edit(t, "config/rbac/role.yaml", "resources: [configmaps]", "resources: [secrets]")
	r := f.loop(t)
	r.says(t, "problem  the operator lacks permissions; add to the rules in config/rbac/role.yaml:", `resources: ["configmaps"]`, `verbs: ["patch"]`)
	f.edit(t, "config/rbac/role.yaml", "resources: [secrets]", "resources: [configmaps]")
	r.says(t, "solved   the operator lacks permissions", "/one: Ready: all made")
}

func TestASecondUpOfTheSameFolderIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.loop(t)
	r.says(t, "operator running")
	refused := fmt.Sprintf("another `operon up` or `operon down` is running for %s (process %d); stop it first", f.dir, os.Getpid())
	if got := f.once(t, nil); got.err == nil || lacks(got.err.Error(), refused) != nil {
		t.Errorf("up: %v", got.err)
	}
	if _, err := f.down(t.Context(), 0); err == nil || lacks(err.Error(), refused) != nil {
		t.Errorf("down: %v", err)
	}
	r.end(t)
}

func TestLoopShowsAnObjectThatIsDeletedByHand(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.loop(t)
	r.says(t, "/one: Ready: all made", "object   ConfigMap "+f.env.Namespace+"/one: Ready")
	if strings.Contains(contents(t, r.out), "Missing") {
		t.Errorf("missing before all was seen:\n%s", contents(t, r.out))
	}
	if err := f.gadgets(t).Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.says(t, "object   Gadget "+f.env.Namespace+"/one: Missing: not in the cluster", "object   ConfigMap "+f.env.Namespace+"/one: gone")
	if _, err := f.gadgets(t).Get(t.Context(), "one", getOptions); err == nil {
		t.Error(errors.New("it was applied again, though nobody changed it"))
	}
}

func TestEndpointIsKnownWhileTheOperatorRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sum := sha256.Sum256([]byte(f.dir))
	file := filepath.Join(stateHome(t), "up", hex.EncodeToString(sum[:])[:12], "endpoint")
	r := f.loop(t)
	r.says(t, "operator running")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := up.Endpoints()
	if err != nil || !slices.Contains(all, string(content)) || !strings.HasPrefix(string(content), "127.0.0.1:") {
		t.Errorf("%q is not among the endpoints %q, error %v", content, all, err)
	}
	r.end(t)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there, error %v", err)
	}
}
