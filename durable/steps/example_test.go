package steps_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/artifactstore"
	"github.com/operon-framework/operon/durable/steps"
)

// The object of these actions. Each function is an entry of an operator's Actions, with a StatefulSet instead of the
// operator's own kind.
var (
	cellar = artifactstore.Directory("/var/lib/cellar")
	db     = &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
	}
)

type deed = operon.Action[*appsv1.StatefulSet]

// Run a command in a container.
func ExampleExec() {
	var _ deed = func(ctx context.Context, db *appsv1.StatefulSet, act *operon.ActionContext) error {
		flush := steps.Command{Namespace: db.Namespace, Pod: db.Name + "-0", Command: []string{"db", "flush"}}
		_, err := durable.Do(ctx, act.Run, steps.Exec("flush", flush))
		return err
	}
}

// Run a command in each of several pods. The list of pods is a step, so that it is the same after a restart.
func ExampleExec_all() {
	names := durable.Step[[]string]{Name: "pods", Do: func(ctx context.Context, a *durable.Attempt) (names []string, err error) {
		var pods corev1.PodList
		err = a.List(ctx, &pods, client.MatchingLabels{"app": "db"})
		for _, pod := range pods.Items {
			names = append(names, pod.Name)
		}
		return names, err
	}}
	var _ deed = func(ctx context.Context, db *appsv1.StatefulSet, act *operon.ActionContext) error {
		pods, err := durable.Do(ctx, act.Run, names)
		for _, pod := range pods {
			if err == nil {
				_, err = durable.Do(ctx, act.Run, steps.Exec("flush-"+pod, steps.Command{Namespace: db.Namespace, Pod: pod, Command: []string{"db", "flush"}}))
			}
		}
		return err
	}
}

// Run a Job, whose pod has its own image and one or more containers.
func ExampleJob() {
	var _ deed = func(ctx context.Context, db *appsv1.StatefulSet, act *operon.ActionContext) error {
		migrate := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "migrate", Image: "db-tools:7"}}}
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: db.Namespace, Name: "migrate"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: migrate}}}
		_, err := durable.Do(ctx, act.Run, steps.Job("migrate", job))
		return err
	}
}

// Run a Job that copies a volume to an object store, or back, with any tool that its image contains.
func ExampleJob_volume() {
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "copy", Image: "restic:1", Args: []string{"backup", "/data"},
			EnvFrom:      []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cellar"}}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-db-0"}}}},
	}
	var _ deed = func(ctx context.Context, db *appsv1.StatefulSet, act *operon.ActionContext) error {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: db.Namespace, Name: "copy"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}}
		done, err := durable.Do(ctx, act.Run, steps.Job("copy", job))
		act.Artifact("job", done.Name)
		return err
	}
}

// Scale a workload to zero while something is done, and restore the number of pods afterwards.
func ExampleScale() {
	var _ deed = func(ctx context.Context, db *appsv1.StatefulSet, act *operon.ActionContext) error {
		before, err := steps.Scale(ctx, act.Run, "down", db, 0, true)
		act.Artifact("pods", fmt.Sprint(before))
		return err
	}
}

// Wait for a condition of any object.
func ExampleUntil() {
	var _ deed = func(ctx context.Context, db *appsv1.StatefulSet, act *operon.ActionContext) error {
		_, err := durable.Do(ctx, act.Run, steps.Until("up", db, "self.status.readyReplicas == self.spec.replicas"))
		return err
	}
}

// Store the output of a command in a container as a file of a bucket.
func ExampleSave() {
	var _ deed = func(ctx context.Context, db *appsv1.StatefulSet, act *operon.ActionContext) error {
		dump := steps.Command{Namespace: db.Namespace, Pod: db.Name + "-0", Command: []string{"db", "dump"}}
		file, err := durable.Do(ctx, act.Run, steps.Save("dump", dump, cellar, db.Name))
		act.Artifact("file", file)
		return err
	}
}

// Pass a file of a bucket to a command in a container: the file of the Action in spec.artifactsFrom.
func ExampleLoad() {
	var _ deed = func(ctx context.Context, db *appsv1.StatefulSet, act *operon.ActionContext) error {
		load := steps.Command{Namespace: db.Namespace, Pod: db.Name + "-0", Command: []string{"db", "load"}}
		_, err := durable.Do(ctx, act.Run, steps.Load("load", load, cellar, act.Artifacts["file"]))
		return err
	}
}

// Delete a file.
func ExampleLoad_delete() {
	var _ deed = func(ctx context.Context, _ *appsv1.StatefulSet, act *operon.ActionContext) error {
		forget := func(ctx context.Context, _ *durable.Attempt) (bool, error) {
			return true, cellar.Delete(ctx, act.Artifacts["file"])
		}
		_, err := durable.Do(ctx, act.Run, durable.Step[bool]{Name: "forget", Do: forget})
		return err
	}
}

// Create an object of any kind, here a snapshot of a volume, once for the step's key, and wait for it. It is deleted if the
// run is undone.
func Example_snapshot() {
	snapshot := func(key string) *unstructured.Unstructured {
		s := &unstructured.Unstructured{}
		s.SetGroupVersionKind(schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"})
		s.SetNamespace(db.Namespace)
		s.SetName("db-" + key)
		s.Object["spec"] = map[string]any{"source": map[string]any{"persistentVolumeClaimName": "data-db-0"}}
		return s
	}
	made := durable.Step[string]{
		Name: "snapshot",
		Do: func(ctx context.Context, a *durable.Attempt) (string, error) {
			return a.Key, client.IgnoreAlreadyExists(a.Client.Create(ctx, snapshot(a.Key)))
		},
		Undo: func(ctx context.Context, a *durable.Attempt, _ string) error {
			return client.IgnoreNotFound(a.Client.Delete(ctx, snapshot(a.Key)))
		},
	}
	var _ deed = func(ctx context.Context, _ *appsv1.StatefulSet, act *operon.ActionContext) error {
		key, err := durable.Do(ctx, act.Run, made)
		if err == nil {
			_, err = durable.Do(ctx, act.Run, steps.Until("taken", snapshot(key), "self.status.readyToUse"))
		}
		return err
	}
}

// Create a snapshot in an external API that recognizes a repeated request by the token of the client.
func Example_external() {
	var api struct {
		CreateSnapshot func(ctx context.Context, database, token string) (id string, err error)
		DeleteSnapshot func(ctx context.Context, token string) error
	}
	made := durable.Step[string]{
		Name: "snapshot",
		Do: func(ctx context.Context, a *durable.Attempt) (string, error) {
			return api.CreateSnapshot(ctx, "shop", a.Key)
		},
		Undo: func(ctx context.Context, a *durable.Attempt, _ string) error { return api.DeleteSnapshot(ctx, a.Key) },
	}
	var _ deed = func(ctx context.Context, _ *appsv1.StatefulSet, act *operon.ActionContext) error {
		id, err := durable.Do(ctx, act.Run, made)
		act.Artifact("snapshot", id)
		return err
	}
}

// Clean up at the end of the run, whatever its result is.
func Example_finally() {
	var _ deed = func(ctx context.Context, db *appsv1.StatefulSet, act *operon.ActionContext) error {
		lock := steps.Exec("lock", steps.Command{Namespace: db.Namespace, Pod: db.Name + "-0", Command: []string{"db", "lock"}})
		unlock := steps.Exec("unlock", steps.Command{Namespace: db.Namespace, Pod: db.Name + "-0", Command: []string{"db", "unlock"}})
		lock.Finally = func(ctx context.Context, a *durable.Attempt, _ steps.Output) error {
			_, err := unlock.Do(ctx, a)
			return err
		}
		_, err := durable.Do(ctx, act.Run, lock)
		return err
	}
}
