package reconcilelog_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// Each reconcile reports every cause for which the object was enqueued.
func TestReconcileKnowsItsCauses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Box("early", nil)
	var failures atomic.Int32
	labels := client.MatchingLabels{"read-by": "a-box"}
	journal, how := boxtest.Logged(slog.LevelDebug)
	w.RunLogging(how, boxtest.Observing{
		ComposeFunc: func(b *boxtest.Box, out *operon.Composition) error {
			if b.Spec.Data["fail"] != "" && failures.Add(1) <= 3 { // the watch event of the first failure's status arrives before its retry
				return errors.New("no luck")
			}
			out.Child(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-" + b.Name}})
			return boxtest.Copies(b, out)
		},
		Observer: func(ctx context.Context, _ *boxtest.Box, seen *operon.Observed) error {
			return seen.List(ctx, &corev1.SecretList{}, labels)
		},
	})
	journal.Because(t, "early", "the operator started")

	b := w.Box("box", map[string]string{"a": "1"})
	w.IsReady(b)
	journal.Because(t, "box", "created")
	journal.Because(t, "box", "its metadata changed") // the finalizer
	before := b.DeepCopyObject().(*boxtest.Box)
	b.Status.Seen = []string{"somebody else's"}
	w.Must(w.Client.Status().Patch(t.Context(), b, client.MergeFrom(before)))
	journal.Because(t, "box", "its status changed")
	w.Change(b, func() { b.Spec.Data["a"] = "2" })
	journal.Because(t, "box", "its spec changed")

	child := boxtest.ConfigMap("box", nil)
	child.Namespace = w.Namespace
	w.Change(child, func() { child.Data["a"] = "3" })
	journal.Because(t, "box", "ConfigMap box changed")
	w.Must(w.Client.Delete(t.Context(), child))
	journal.Because(t, "box", "ConfigMap box went away")

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "read", Namespace: w.Namespace, Labels: labels}}
	w.Must(w.Client.Create(t.Context(), secret))
	journal.Because(t, "box", "Secret read was created, which it reads")
	w.Change(secret, func() { secret.Data = map[string][]byte{"a": []byte("b")} })
	journal.Because(t, "box", "Secret read changed, which it reads")
	w.Must(w.Client.Delete(t.Context(), secret))
	journal.Because(t, "box", "Secret read was deleted, which it reads")

	w.Change(b, func() { b.Spec.Data["fail"] = "thrice" })
	journal.Because(t, "box", "retry after an error: compose: no luck")
	w.Must(w.Client.Delete(t.Context(), b))
	journal.Because(t, "box", "its deletion was requested")
	journal.Because(t, "box", "it is gone")
}

// At level info, there is one log line when an object becomes ready or stops being ready, regardless of the number of
// reconciles. At level debug, there is one for each reconcile. Neither contains a value of a Secret.
func TestLogsTellTransitionsAndNoSecrets(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const secret = "s3cr3t-value"
	composer := boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if b.Spec.Data["broken"] != "" {
			return errors.New("out of order")
		}
		out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, StringData: map[string]string{"key": secret}})
		return nil
	})
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		t.Run(level.String(), func(t *testing.T) {
			w := &fixture{&boxtest.Fixture{T: t, Env: w.Env, Client: w.Client}}
			journal, how := boxtest.Logged(level)
			w.RunLogging(how, composer)
			name := "box-" + strings.ToLower(level.String())
			b := w.Box(name, map[string]string{"a": "1"})
			w.IsReady(b)
			child := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}}
			w.Change(child, func() { child.Data["key"] = []byte("changed-" + secret) })
			w.Event("Repaired", "Secret "+name)
			w.Change(b, func() { b.Spec.Data["broken"] = "yes" })
			w.Ready(b, metav1.ConditionFalse, "ReconcileFailed", "out of order")
			localtest.Always(t, boxtest.Stillness, "one line", func(context.Context) error {
				if n := len(journal.Of("not ready", name)); n > 1 {
					return errors.New("the same failure was told twice")
				}
				return nil
			})
			if level == slog.LevelDebug {
				w.Eventually("a line for each reconcile", func(context.Context) error {
					if n := len(journal.Of("reconciled", name)); n <= 3 {
						return fmt.Errorf("there are %d", n)
					}
					return nil
				})
			}
			if n := len(journal.Of("ready", name)); n != 1 {
				t.Errorf("it was told %d times that the object is ready:\n%s", n, journal.All())
			}
			if n := len(journal.Of("not ready", name)); n != 1 {
				t.Errorf("it was told %d times that the object is not ready", n)
			}
			if n := len(journal.Of("Reconciler error", name)); n > 0 {
				t.Errorf("controller-runtime told the error %d times besides", n)
			}
			if passes := journal.Of("reconciled", name); len(passes) > 0 && level == slog.LevelInfo {
				t.Errorf("%d reconciles were told", len(passes))
			}
			if all := journal.All(); strings.Contains(all, secret) || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(secret))) {
				t.Errorf("the log has a secret:\n%s", journal.All())
			}
		})
	}
}

// A reconcile that is delayed by the rate limit keeps its causes.
func TestDelayedReconcileKeepsItsCauses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	journal, how := boxtest.Logged(slog.LevelDebug)
	how.Namespace = w.Namespace
	w.RunWith(w.Config, how, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies), operon.RateLimit(1, time.Second)))
	b := w.Box("busy", map[string]string{"a": "1"})
	w.IsReady(b)
	n := 1
	w.Eventually("a reconcile that was delayed, with its causes", func(context.Context) error {
		n++ // repeatedly: on a slow machine, a reconcile may have run before one change
		w.Change(b, func() { b.Spec.Data["a"] = strconv.Itoa(n) })
		for _, l := range journal.Of("reconciled", "busy") {
			if causes := strings.Join(l.Causes, " and "); l.Outcome == "done" && boxtest.HasAll(causes, []string{"its rate limit allows it again", " and "}) {
				return nil
			}
		}
		return errors.New(journal.All())
	})
}

// controller-runtime writes a complaint to standard error half a minute after the start of a program that has not set a logger.
// Only the first logger that is set is used.
func TestControllerRuntimeHasALogger(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	w.IsReady(w.Box("any", nil))
	late := &boxtest.OperatorLog{}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(late, nil)))
	ctrl.Log.Info("to whom?")
	if late.All() != "" {
		t.Error("an operator ran, and controller-runtime had no logger still")
	}
}
