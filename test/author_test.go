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
	"github.com/operon-framework/operon/local/localtest"
)

// finalizes is a composer with a Finalize method.
type finalizes struct {
	compose
	finalize func(context.Context, *Box, *operon.Finalization) error
}

func (f finalizes) Finalize(ctx context.Context, b *Box, out *operon.Finalization) error {
	return f.finalize(ctx, b, out)
}

// Finalize runs while the child objects exist, and can read them. Neither the object nor its child objects are removed before
// it succeeds.
func TestFinalizeHoldsTheObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mayGo atomic.Bool
	w.run(finalizes{copies, func(ctx context.Context, b *Box, out *operon.Finalization) error {
		child := config(b.Name, nil)
		found, err := out.Get(ctx, child)
		if err != nil || !found {
			return fmt.Errorf("the child is gone before the cleanup: %w", errors.Join(err, errors.New("not found")))
		}
		permit := config("permit", nil)
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
	b := w.box("kept", map[string]string{"a": "1"})
	w.isReady(b)
	w.must(w.client.Delete(t.Context(), b))
	w.ready(b, metav1.ConditionFalse, "BackupRunning", "the last backup of 1 is running")
	w.must(w.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: w.meta("permit")}))
	w.eventually("the Box to go", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
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
	w := newWorld(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	defer gate.Open()
	var calls atomic.Int64
	requests, _ := w.runAs(gate.Config(w.Config), finalizes{copies, func(ctx context.Context, _ *Box, out *operon.Finalization) error {
		if found, err := out.Get(ctx, config("read", nil)); err != nil || !found { // its watch requeues the object
			return errors.Join(err, errors.New("not found"))
		}
		gate.Shut()
		calls.Add(1)
		return nil
	}})
	read := config("read", nil)
	read.Namespace = w.Namespace
	w.must(w.client.Create(t.Context(), read))
	b := w.box("once", map[string]string{"a": "1"})
	w.isReady(b)
	w.must(w.client.Delete(t.Context(), b))
	patched := func(times int) {
		t.Helper()
		w.eventually("the finalizer to be removed", func(context.Context) error {
			found := 0
			for _, r := range requests.all(true) {
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
	w.gone(b)
	read.Data = map[string]string{"a": "2"}
	w.must(w.client.Update(t.Context(), read))
	patched(3)
	if calls.Load() != 1 {
		t.Errorf("Finalize succeeded %d times", calls.Load())
	}
}

// A generated value does not change, regardless of restarts of the operator. A deleted Secret is created again.
func TestGeneratedSecretsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	composer := secretive(func(ctx context.Context, b *Box, out *operon.Composition) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}}
		return out.GeneratedSecret(ctx, secret, func(data map[string][]byte) {
			if data["password"] == nil {
				data["password"] = []byte(rand.Text())
			}
		})
	})
	_, stop := w.run(composer)
	b := w.box("credentials", nil)
	w.isReady(b)
	secret := &corev1.Secret{ObjectMeta: w.meta(b.Name)}
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	password := string(secret.Data["password"])
	if len(password) < 20 {
		t.Fatalf("the password is %q", password)
	}
	stop()
	requests, _ := w.run(composer)
	w.poke(b)
	w.change(b, func() { b.Spec.Data = map[string]string{"b": "2"} })
	w.isReady(b)
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	if string(secret.Data["password"]) != password {
		t.Error("another operator replaced the password")
	}
	if children := ofChildren(requests.all(true)); len(children) > 0 {
		t.Errorf("the second operator wrote %q", children)
	}
	w.must(w.client.Delete(t.Context(), secret))
	uid := secret.UID
	w.eventually("another Secret", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		if now := string(secret.Data["password"]); secret.UID == uid || len(now) < 20 { // the stale cache may still have contained the old one
			return fmt.Errorf("it is %q", now)
		}
		return nil
	})
}

// secretive is a composer that needs a context.
type secretive func(context.Context, *Box, *operon.Composition) error

func (s secretive) Compose(ctx context.Context, b *Box, out *operon.Composition) error {
	return s(ctx, b, out)
}

// A name on the channel triggers a reconcile of the object with that name.
func TestTriggerReconciles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var reconciles atomic.Int32
	names := make(chan types.NamespacedName)
	w.run(compose(func(*Box, *operon.Composition) error {
		reconciles.Add(1)
		return nil
	}), operon.Trigger(names))
	b := w.box("pulled", nil)
	w.isReady(b)
	before := reconciles.Load()
	names <- client.ObjectKeyFromObject(b)
	names <- types.NamespacedName{Namespace: w.Namespace, Name: "missing"}
	w.eventually("the reconcile", func(context.Context) error {
		if reconciles.Load() == before {
			return errors.New("it is not reconciled")
		}
		return nil
	})
}

// Child objects may be YAML documents and apply configurations, and ReadyWhen receives the type of the child.
func TestOtherFormsOfChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(func(b *Box, out *operon.Composition) error {
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
	b := w.box("forms", nil)
	w.ready(b, metav1.ConditionFalse, "ChildNotReady", "it is closed")
	opened := &corev1.ConfigMap{ObjectMeta: w.meta("from-apply")}
	w.change(opened, func() { opened.Data["open"] = "yes" })
	w.isReady(b)
	yaml := &corev1.ConfigMap{ObjectMeta: w.meta("from-yaml")}
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(yaml), yaml))
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
	defaultsTooMuch  struct{ compose }
	validatesStrings struct{ compose }
	deletesWithout   struct{ compose }
	misspelled       struct{ compose }
	british          struct{ compose }
	unrelated        struct{ compose }
)

func (defaultsTooMuch) Default(context.Context, *Box) (bool, error)                { return false, nil }
func (validatesStrings) Validate(string) error                                     { return errors.New("unused") }
func (deletesWithout) ValidateDeletion(context.Context, *Box) error                { return nil }
func (misspelled) Observ(context.Context, *Box, *operon.Observed) error            { return nil }
func (british) Finalise(context.Context, *Box, *operon.Finalization) error         { return nil }
func (unrelated) Observable() bool                                                 { return false }
func (unrelated) Summarize(context.Context, *Box, *operon.Observed) error          { return nil }
func (unrelated) Default(context.Context, *Box) error                              { return nil }
func (unrelated) UpgradeAll(context.Context, *appsv1.DeploymentList, string) error { return nil }

// A method that would never be called causes an error at the start, which states the required signature.
func TestMethodsThatWouldNeverBeCalled(t *testing.T) {
	t.Parallel()
	nowhere := &rest.Config{Host: "127.0.0.1:1"}
	for want, composer := range map[string]operon.Composer[*Box]{
		"a method Default(context.Context, *box.Box) (bool, error), which Operon would never call: the signature must be (context.Context, *box.Box) error": defaultsTooMuch{copies},
		"the signature must be (context.Context, *box.Box, *operon.Admission[*box.Box]) field.ErrorList":                                                    validatesStrings{copies},
		"the signature must be (context.Context, *box.Box, *operon.Admission[*box.Box]) error":                                                              deletesWithout{copies},
		"a method Observ, which Operon would never call: is it meant to be Observe?":                                                                        misspelled{copies},
		"a method Finalise, which Operon would never call: is it meant to be Finalize?":                                                                     british{copies},
	} {
		err := operon.Run(t.Context(), "x", nowhere, operon.Config{}, operon.API(addBox), operon.Manage(composer))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: error %v, want %q", composer, err, want)
		}
	}
	err := operon.Run(t.Context(), "x", nowhere, operon.Config{}, operon.API(addBox), operon.Manage(unrelated{copies}), operon.Setup(stopBefore))
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
	err := operon.Run(t.Context(), "x", &rest.Config{Host: "127.0.0.1:1"}, operon.Config{}, operon.API(addBox), operon.Manage(compose(copies)), refuse)
	if err == nil || !strings.Contains(err.Error(), "LeaderElectionID must be configured") {
		t.Errorf("error %v", err)
	}
}
