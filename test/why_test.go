package operon_test

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
	"github.com/operon-framework/operon/local/localtest"
)

// Each reconcile reports every cause for which the object was enqueued.
func TestReconcileKnowsItsCauses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.box("early", nil)
	var failures atomic.Int32
	labels := client.MatchingLabels{"read-by": "a-box"}
	journal, how := logged(slog.LevelDebug)
	w.runLogging(how, observing{
		func(b *Box, out *operon.Composition) error {
			if b.Spec.Data["fail"] != "" && failures.Add(1) <= 3 { // the watch event of the first failure's status arrives before its retry
				return errors.New("no luck")
			}
			out.Child(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-" + b.Name}})
			return copies(b, out)
		},
		func(ctx context.Context, _ *Box, seen *operon.Observed) error {
			return seen.List(ctx, &corev1.SecretList{}, labels)
		},
	})
	journal.because(t, "early", "the operator started")

	b := w.box("box", map[string]string{"a": "1"})
	w.isReady(b)
	journal.because(t, "box", "created")
	journal.because(t, "box", "its metadata changed") // the finalizer
	before := b.DeepCopyObject().(*Box)
	b.Status.Seen = []string{"somebody else's"}
	w.must(w.client.Status().Patch(t.Context(), b, client.MergeFrom(before)))
	journal.because(t, "box", "its status changed")
	w.change(b, func() { b.Spec.Data["a"] = "2" })
	journal.because(t, "box", "its spec changed")

	child := config("box", nil)
	child.Namespace = w.Namespace
	w.change(child, func() { child.Data["a"] = "3" })
	journal.because(t, "box", "ConfigMap box changed")
	w.must(w.client.Delete(t.Context(), child))
	journal.because(t, "box", "ConfigMap box went away")

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "read", Namespace: w.Namespace, Labels: labels}}
	w.must(w.client.Create(t.Context(), secret))
	journal.because(t, "box", "Secret read was created, which it reads")
	w.change(secret, func() { secret.Data = map[string][]byte{"a": []byte("b")} })
	journal.because(t, "box", "Secret read changed, which it reads")
	w.must(w.client.Delete(t.Context(), secret))
	journal.because(t, "box", "Secret read was deleted, which it reads")

	w.change(b, func() { b.Spec.Data["fail"] = "thrice" })
	journal.because(t, "box", "retry after an error: compose: no luck")
	w.must(w.client.Delete(t.Context(), b))
	journal.because(t, "box", "its deletion was requested")
	journal.because(t, "box", "it is gone")
}

// At level info, there is one log line when an object becomes ready or stops being ready, regardless of the number of
// reconciles. At level debug, there is one for each reconcile. Neither contains a value of a Secret.
func TestLogsTellTransitionsAndNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const secret = "s3cr3t-value"
	composer := compose(func(b *Box, out *operon.Composition) error {
		if b.Spec.Data["broken"] != "" {
			return errors.New("out of order")
		}
		out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, StringData: map[string]string{"key": secret}})
		return nil
	})
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		t.Run(level.String(), func(t *testing.T) {
			w := &world{T: t, Env: w.Env, client: w.client}
			journal, how := logged(level)
			w.runLogging(how, composer)
			name := "box-" + strings.ToLower(level.String())
			b := w.box(name, map[string]string{"a": "1"})
			w.isReady(b)
			child := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}}
			w.change(child, func() { child.Data["key"] = []byte("changed-" + secret) })
			w.event("Repaired", "Secret "+name)
			w.change(b, func() { b.Spec.Data["broken"] = "yes" })
			w.ready(b, metav1.ConditionFalse, "ReconcileFailed", "out of order")
			localtest.Always(t, stillness, "one line", func(context.Context) error {
				if n := len(journal.of("not ready", name)); n > 1 {
					return errors.New("the same failure was told twice")
				}
				return nil
			})
			if level == slog.LevelDebug {
				w.eventually("a line for each reconcile", func(context.Context) error {
					if n := len(journal.of("reconciled", name)); n <= 3 {
						return fmt.Errorf("there are %d", n)
					}
					return nil
				})
			}
			if n := len(journal.of("ready", name)); n != 1 {
				t.Errorf("it was told %d times that the object is ready:\n%s", n, journal.all())
			}
			if n := len(journal.of("not ready", name)); n != 1 {
				t.Errorf("it was told %d times that the object is not ready", n)
			}
			if n := len(journal.of("Reconciler error", name)); n > 0 {
				t.Errorf("controller-runtime told the error %d times besides", n)
			}
			if passes := journal.of("reconciled", name); len(passes) > 0 && level == slog.LevelInfo {
				t.Errorf("%d reconciles were told", len(passes))
			}
			if all := journal.all(); strings.Contains(all, secret) || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(secret))) {
				t.Errorf("the log has a secret:\n%s", journal.all())
			}
		})
	}
}

// A reconcile that is delayed by the rate limit keeps its causes.
func TestDelayedReconcileKeepsItsCauses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	journal, how := logged(slog.LevelDebug)
	how.Namespace = w.Namespace
	w.runWith(w.Config, how, operon.API(addBox), operon.Manage(compose(copies), operon.RateLimit(1, time.Second)))
	b := w.box("busy", map[string]string{"a": "1"})
	w.isReady(b)
	n := 1
	w.eventually("a reconcile that was delayed, with its causes", func(context.Context) error {
		n++ // repeatedly: on a slow machine, a reconcile may have run before one change
		w.change(b, func() { b.Spec.Data["a"] = strconv.Itoa(n) })
		for _, l := range journal.of("reconciled", "busy") {
			if causes := strings.Join(l.Causes, " and "); l.Outcome == "done" && hasAll(causes, []string{"its rate limit allows it again", " and "}) {
				return nil
			}
		}
		return errors.New(journal.all())
	})
}

// controller-runtime writes a complaint to standard error half a minute after the start of a program that has not set a logger.
// Only the first logger that is set is used.
func TestControllerRuntimeHasALogger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(copies))
	w.isReady(w.box("any", nil))
	late := &operatorLog{}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(late, nil)))
	ctrl.Log.Info("to whom?")
	if late.all() != "" {
		t.Error("an operator ran, and controller-runtime had no logger still")
	}
}
