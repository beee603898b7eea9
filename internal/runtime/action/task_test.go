package action_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/durable/steps"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// The predefined steps work as documented with the real API, and leave no objects.
func TestTasks(t *testing.T) {
	t.Parallel()
	d := newDeeds(t)
	d.Must(clientgoscheme.AddToScheme(d.Client.Scheme()))
	d.Must(d.Client.Create(t.Context(), web(d.Namespace)))
	var before atomic.Int32
	d.serve(operon.Actions[*boxtest.Box]{
		"migrate": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
			had, err := steps.Scale(ctx, act.Run, "down", web(b.Namespace), 0, true)
			if err != nil {
				return err
			}
			before.Store(had)
			done, err := durable.Do(ctx, act.Run, steps.Job("migrate", migration(b.Namespace)))
			if err != nil {
				return err
			}
			act.Artifact("job", done.Name)
			signal := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "signal"}}
			_, err = durable.Do(ctx, act.Run, steps.Until("signal", signal, "self.data.go == 'yes'"))
			return err
		},
		"exec": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
			step := steps.Exec("say", steps.Command{Namespace: b.Namespace, Pod: act.Parameters["pod"], Command: []string{"say"}})
			step.Retry = durable.Retry{Attempts: 1}
			return boxtest.DoAll(ctx, act.Run, step)
		},
	})
	d.Box("one", nil)
	a := d.ask("migrate", v1alpha1.ActionSpec{Action: "migrate"})
	d.comes(a, journal.Running, durable.ReasonWaiting, "for ConfigMap signal to be there")
	if before.Load() != 2 || d.replicas() != 0 {
		t.Errorf("there were %d pods and there are %d, want 2 and 0", before.Load(), d.replicas())
	}
	signal := boxtest.ConfigMap("signal", map[string]string{"go": "no"})
	signal.Namespace = d.Namespace
	d.Must(d.Client.Create(t.Context(), signal))
	d.comes(a, journal.Running, durable.ReasonWaiting, "self.data.go == 'yes' is false")
	d.Change(signal, func() { signal.Data["go"] = "yes" })
	d.comes(a, journal.Succeeded, "Ready", "")
	if d.replicas() != 2 || !strings.HasPrefix(a.Status.Journal.Artifacts["job"], "migrate-") {
		t.Errorf("afterwards there are %d pods, and the artifacts are %q", d.replicas(), a.Status.Journal.Artifacts)
	}
	d.Eventually("the Job to be gone", func(ctx context.Context) error {
		var jobs batchv1.JobList
		err := d.Client.List(ctx, &jobs, client.InNamespace(d.Namespace))
		if err == nil && len(jobs.Items) > 0 {
			err = fmt.Errorf("there is %q", jobs.Items[0].Name)
		}
		return err
	})
	pod := d.running("web")
	exec := d.ask("exec", v1alpha1.ActionSpec{Action: "exec", Parameters: map[string]v1alpha1.Parameter{"pod": v1alpha1.Parameter(pod)}})
	d.comes(exec, journal.Failed, durable.ReasonFailed, "step say failed: run say in pod "+pod)
	if ready := meta.FindStatusCondition(exec.Status.Conditions, "Ready"); !strings.Contains(ready.Message, "is simulated: its containers never ran") {
		t.Errorf("the API server's sentence is not told: %s", ready.Message)
	}
}

// running waits until a pod of an app runs, and returns its name.
func (d *deeds) running(app string) (name string) {
	d.Helper()
	d.Eventually("a pod to run", func(ctx context.Context) error {
		var pods corev1.PodList
		if err := d.Client.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels{"app": app}); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				name = pod.Name
				return nil
			}
		}
		return fmt.Errorf("none of %d does", len(pods.Items))
	})
	return name
}

// replicas returns the desired number of pods of the workload.
func (d *deeds) replicas() int32 {
	d.Helper()
	now := web(d.Namespace)
	d.Must(d.Client.Get(d.Context(), client.ObjectKeyFromObject(now), now))
	return *now.Spec.Replicas
}

func web(namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
		},
	}
}

func migration(namespace string) *batchv1.Job {
	pod := podSpec()
	pod.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "migrate", Namespace: namespace},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}},
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main"}}, TerminationGracePeriodSeconds: new(int64(0))}
}
