package operon_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// finalizes is a composer with a Finalize method.
type finalizes struct {
	boxtest.ComposeFunc
	finalize func(context.Context, *boxtest.Box, *operon.Finalization) error
}

func (f finalizes) Finalize(ctx context.Context, b *boxtest.Box, out *operon.Finalization) error {
	return f.finalize(ctx, b, out)
}

// Finalize runs while the child objects exist, and can read them. Neither the object nor its child objects are removed before
// it succeeds.
func TestFinalizeHoldsTheObject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var mayGo atomic.Bool
	w.Run(finalizes{boxtest.Copies, func(ctx context.Context, b *boxtest.Box, out *operon.Finalization) error {
		child := boxtest.ConfigMap(b.Name, nil)
		found, err := out.Get(ctx, child)
		if err != nil || !found {
			return fmt.Errorf("the child is gone before the cleanup: %w", errors.Join(err, errors.New("not found")))
		}
		permit := boxtest.ConfigMap("permit", nil)
		permitted, err := out.Get(ctx, permit)
		if err != nil {
			return err
		}
		if !permitted {
			out.Wait("BackupRunning", "the last backup of "+child.Data["a"]+" is running")
		}
		mayGo.Store(permitted)
		return nil
	}})
	b := w.Box("kept", map[string]string{"a": "1"})
	w.IsReady(b)
	w.Must(w.Client.Delete(t.Context(), b))
	w.Ready(b, metav1.ConditionFalse, "BackupRunning", "the last backup of 1 is running")
	w.Must(w.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: w.Meta("permit")}))
	w.Eventually("the Box to go", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it exists: %w", err)
		}
		return nil
	})
	if !mayGo.Load() {
		t.Error("it went before the cleanup succeeded")
	}
}

// Finalize is not called again after it succeeded, even if the stale cache still shows the object with its finalizer: it would
// recreate objects that it has just removed.
func TestFinalizeSucceedsOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	defer gate.Open()
	var calls atomic.Int64
	requests, _ := w.RunAs(gate.Config(w.Config), finalizes{boxtest.Copies, func(ctx context.Context, _ *boxtest.Box, out *operon.Finalization) error {
		if found, err := out.Get(ctx, boxtest.ConfigMap("read", nil)); err != nil || !found { // its watch requeues the object
			return errors.Join(err, errors.New("not found"))
		}
		gate.Shut()
		calls.Add(1)
		return nil
	}})
	read := boxtest.ConfigMap("read", nil)
	read.Namespace = w.Namespace
	w.Must(w.Client.Create(t.Context(), read))
	b := w.Box("once", map[string]string{"a": "1"})
	w.IsReady(b)
	w.Must(w.Client.Delete(t.Context(), b))
	patched := func(times int) {
		t.Helper()
		w.Eventually("the finalizer to be removed", func(context.Context) error {
			found := 0
			for _, r := range requests.All(true) {
				if r == "PATCH /apis/test.operon.dev/v1/namespaces/"+w.Namespace+"/boxes/once" {
					found++
				}
			}
			if found < times {
				return fmt.Errorf("it was patched %d times", found)
			}
			return nil
		})
	}
	patched(2) // the finalizer was added and removed
	w.Gone(b)
	read.Data = map[string]string{"a": "2"}
	w.Must(w.Client.Update(t.Context(), read))
	patched(3)
	if calls.Load() != 1 {
		t.Errorf("Finalize succeeded %d times", calls.Load())
	}
}

// A generated value does not change, regardless of restarts of the operator. A deleted Secret is created again.
func TestGeneratedSecretsStay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	composer := secretive(func(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}}
		return out.GeneratedSecret(ctx, secret, func(data map[string][]byte) {
			if data["password"] == nil {
				data["password"] = []byte(rand.Text())
			}
		})
	})
	_, stop := w.Run(composer)
	b := w.Box("credentials", nil)
	w.IsReady(b)
	secret := &corev1.Secret{ObjectMeta: w.Meta(b.Name)}
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	password := string(secret.Data["password"])
	if len(password) < 20 {
		t.Fatalf("the password is %q", password)
	}
	stop()
	requests, _ := w.Run(composer)
	w.Poke(b)
	w.Change(b, func() { b.Spec.Data = map[string]string{"b": "2"} })
	w.IsReady(b)
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	if string(secret.Data["password"]) != password {
		t.Error("another operator replaced the password")
	}
	if children := boxtest.OfChildren(requests.All(true)); len(children) > 0 {
		t.Errorf("the second operator wrote %q", children)
	}
	w.Must(w.Client.Delete(t.Context(), secret))
	uid := secret.UID
	w.Eventually("another Secret", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		if now := string(secret.Data["password"]); secret.UID == uid || len(now) < 20 { // the stale cache may still have contained the old one
			return fmt.Errorf("it is %q", now)
		}
		return nil
	})
}

// secretive is a composer that needs a context.
type secretive func(context.Context, *boxtest.Box, *operon.Composition) error

func (s secretive) Compose(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
	return s(ctx, b, out)
}

// A name on the channel triggers a reconcile of the object with that name.
func TestTriggerReconciles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var reconciles atomic.Int32
	names := make(chan types.NamespacedName)
	w.Run(boxtest.ComposeFunc(func(*boxtest.Box, *operon.Composition) error {
		reconciles.Add(1)
		return nil
	}), operon.Trigger(names))
	b := w.Box("pulled", nil)
	w.IsReady(b)
	before := reconciles.Load()
	names <- client.ObjectKeyFromObject(b)
	names <- types.NamespacedName{Namespace: w.Namespace, Name: "missing"}
	w.Eventually("the reconcile", func(context.Context) error {
		if reconciles.Load() == before {
			return errors.New("it is not reconciled")
		}
		return nil
	})
}

// Child objects may be YAML documents and apply configurations, and ReadyWhen receives the type of the child.
func TestOtherFormsOfChildren(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		objects, err := operon.FromYAML([]byte("# two documents\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\ndata: {a: \"1\"}\n---\n"))
		if err != nil {
			return err
		}
		for _, object := range objects {
			out.Child(object)
		}
		applied, err := operon.FromApplyConfiguration(applycorev1.ConfigMap("from-apply", "").WithData(map[string]string{"a": "2"}))
		if err != nil {
			return err
		}
		out.Child(applied, operon.ReadyWhen(func(c *corev1.ConfigMap) (bool, string) {
			return c.Data["open"] == "yes", "it is closed"
		}))
		return nil
	}))
	b := w.Box("forms", nil)
	w.Ready(b, metav1.ConditionFalse, "ChildNotReady", "it is closed")
	opened := &corev1.ConfigMap{ObjectMeta: w.Meta("from-apply")}
	w.Change(opened, func() { opened.Data["open"] = "yes" })
	w.IsReady(b)
	yaml := &corev1.ConfigMap{ObjectMeta: w.Meta("from-yaml")}
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(yaml), yaml))
	if yaml.Data["a"] != "1" || opened.Data["a"] != "2" {
		t.Errorf("the children have %v and %v", yaml.Data, opened.Data)
	}
}

func TestFromYAMLMistakes(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"a: [":                       "document 1: ",
		"kind: ConfigMap\n":          "document 1 has no apiVersion or no kind",
		"---\n---\nkind: x\n---\n{}": "document 1 has no apiVersion or no kind",
	} {
		if objects, err := operon.FromYAML([]byte(given)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", given, objects, err, want)
		}
	}
}

type (
	defaultsTooMuch  struct{ boxtest.ComposeFunc }
	validatesStrings struct{ boxtest.ComposeFunc }
	deletesWithout   struct{ boxtest.ComposeFunc }
	misspelled       struct{ boxtest.ComposeFunc }
	british          struct{ boxtest.ComposeFunc }
	unrelated        struct{ boxtest.ComposeFunc }
)

func (defaultsTooMuch) Default(context.Context, *boxtest.Box) (bool, error)        { return false, nil }
func (validatesStrings) Validate(string) error                                     { return errors.New("unused") }
func (deletesWithout) ValidateDeletion(context.Context, *boxtest.Box) error        { return nil }
func (misspelled) Observ(context.Context, *boxtest.Box, *operon.Observed) error    { return nil }
func (british) Finalise(context.Context, *boxtest.Box, *operon.Finalization) error { return nil }
func (unrelated) Observable() bool                                                 { return false }
func (unrelated) Summarize(context.Context, *boxtest.Box, *operon.Observed) error  { return nil }
func (unrelated) Default(context.Context, *boxtest.Box) error                      { return nil }
func (unrelated) UpgradeAll(context.Context, *appsv1.DeploymentList, string) error { return nil }

// A method that would never be called causes an error at the start, which states the required signature.
func TestMethodsThatWouldNeverBeCalled(t *testing.T) {
	t.Parallel()
	nowhere := &rest.Config{Host: "127.0.0.1:1"}
	for want, composer := range map[string]operon.Composer[*boxtest.Box]{
		"a method Default(context.Context, *box.Box) (bool, error), which Operon would never call: the signature must be (context.Context, *box.Box) error": defaultsTooMuch{boxtest.Copies},
		"the signature must be (context.Context, *box.Box, *operon.Admission[*box.Box]) field.ErrorList":                                                    validatesStrings{boxtest.Copies},
		"the signature must be (context.Context, *box.Box, *operon.Admission[*box.Box]) error":                                                              deletesWithout{boxtest.Copies},
		"a method Observ, which Operon would never call: is it meant to be Observe?":                                                                        misspelled{boxtest.Copies},
		"a method Finalise, which Operon would never call: is it meant to be Finalize?":                                                                     british{boxtest.Copies},
	} {
		err := operon.Run(t.Context(), "x", nowhere, operon.Config{}, operon.API(boxtest.AddToScheme), operon.Manage(composer))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: error %v, want %q", composer, err, want)
		}
	}
	err := operon.Run(t.Context(), "x", nowhere, operon.Config{}, operon.API(boxtest.AddToScheme), operon.Manage(unrelated{boxtest.Copies}), operon.Setup(stopBefore))
	if !errors.Is(err, errStopped) {
		t.Errorf("methods of the author's own: %v", err)
	}
}

var errStopped = errors.New("stopped before the start")

func stopBefore(ctrl.Manager) error { return errStopped }

// ManagerOptions are passed to the manager.
func TestManagerOptions(t *testing.T) {
	t.Parallel()
	refuse := operon.ManagerOptions(func(o *ctrl.Options) { o.Scheme = nil; o.LeaderElection = true; o.LeaderElectionID = "" })
	err := operon.Run(t.Context(), "x", &rest.Config{Host: "127.0.0.1:1"}, operon.Config{}, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)), refuse)
	if err == nil || !strings.Contains(err.Error(), "LeaderElectionID must be configured") {
		t.Errorf("error %v", err)
	}
}
