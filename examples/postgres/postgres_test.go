package main

import (
	"context"
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/operontest"
	"github.com/operon-framework/operon/prove"

	"github.com/operon-framework/operon/examples/postgres/api/v1alpha1"
)

// kit is the operator for tests.
var kit = operontest.New(&Postgres{Image: "postgres"}, v1alpha1.AddToScheme).CRDs("config/crd")

func sample(t *testing.T) *v1alpha1.Postgres {
	t.Helper()
	return operontest.Sample[*v1alpha1.Postgres](t, "config/samples/postgres.yaml")
}

// A failed backup sets the condition Degraded but does not affect readiness. The deletion waits for a last backup.
func TestPostgres(t *testing.T) {
	t.Parallel()
	p := sample(t)
	o := &Postgres{Image: "postgres"}
	backups, server := o.backupsOf(p), o.serverOf(p)
	last := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: p.Name + "-last-backup"}}
	kit.Run(t, operontest.Case[*v1alpha1.Postgres]{
		Object: p,
		Reads:  []string{"Secret", "Job"},
		Expect: operontest.Expect[*v1alpha1.Postgres]{
			Writes: []string{
				"change Postgres " + p.Name, "create Secret " + p.Name + "-credentials", "create Service " + p.Name,
				"create StatefulSet " + p.Name, "create CronJob " + p.Name + "-backup", "status Postgres " + p.Name,
			},
			Events:     []string{"Created"},
			Conditions: []string{"Ready=False ChildNotReady"},
		},
		Then: []operontest.Step[*v1alpha1.Postgres]{
			{
				Name:   "the server is ready",
				Do:     []operontest.Change{operontest.ComesUp(server)},
				Expect: operontest.Expect[*v1alpha1.Postgres]{Writes: []string{"status Postgres " + p.Name}, Events: []string{"Ready"}, Conditions: []string{"Ready=True"}},
			},
			{
				Name: "a backup fails",
				Do: []operontest.Change{operontest.EditStatus(backups, func(c *batchv1.CronJob) {
					c.Status.LastScheduleTime = new(metav1.Unix(1_800_000_000, 0))
				})},
				Expect: operontest.Expect[*v1alpha1.Postgres]{Writes: []string{"status Postgres " + p.Name}, Conditions: []string{"Ready=True", "Degraded=True BackupFailed"}},
			},
			{
				Name:   "it is deleted",
				Do:     []operontest.Change{operontest.Delete(p)},
				Expect: operontest.Expect[*v1alpha1.Postgres]{Writes: []string{"create Job " + last.Name, "status Postgres " + p.Name}, Events: []string{"LastBackup"}, Conditions: []string{"Ready=False LastBackup"}},
			},
			{
				Name:   "the last backup is complete",
				Do:     []operontest.Change{operontest.EditStatus(last, func(j *batchv1.Job) { j.Status.Succeeded = 1 })},
				Expect: operontest.Expect[*v1alpha1.Postgres]{Writes: []string{"delete Job " + last.Name, "change Postgres " + p.Name}, Events: []string{"BackedUp"}},
			},
		},
	})
}

// In a real Kubernetes with simulated pods, the password does not change when the operator or the object changes.
func TestPostgresOnCluster(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "config/crd")
	p := sample(t)
	dumps := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: p.Spec.Backup.Claim},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: p.Spec.Storage}},
		},
	}
	password := ""
	secret := &corev1.Secret{}
	readPassword := func(ctx context.Context, place operontest.Place) error {
		return place.Get(ctx, client.ObjectKey{Namespace: place.Namespace, Name: credentialsOf(p).Name}, secret)
	}
	kit.RunOn(t, env.Config, env.Namespace, operontest.Case[*v1alpha1.Postgres]{
		Given:  []client.Object{dumps},
		Object: p,
		Reads:  []string{"Secret"},
		Expect: operontest.Expect[*v1alpha1.Postgres]{
			Writes: []string{
				"change Postgres " + p.Name, "create Secret " + p.Name + "-credentials", "create Service " + p.Name,
				"create StatefulSet " + p.Name, "create CronJob " + p.Name + "-backup", "status Postgres " + p.Name,
			},
			Events:     []string{"Created", "Ready"},
			Conditions: []string{"Ready=True"},
		},
		Then: []operontest.Step[*v1alpha1.Postgres]{
			{Name: "the password is noted", Do: []operontest.Change{readPassword, func(context.Context, operontest.Place) error {
				password = string(secret.Data["password"])
				return nil
			}}},
			{Name: "the schedule changes", Do: []operontest.Change{
				operontest.Restart(), operontest.Edit(p, func(p *v1alpha1.Postgres) { p.Spec.Backup.Schedule = "0 4 * * *" }), readPassword,
				func(context.Context, operontest.Place) error {
					if password == "" || string(secret.Data["password"]) != password {
						return errors.New("the password changed")
					}
					return nil
				},
			}, Expect: operontest.Expect[*v1alpha1.Postgres]{Writes: []string{"change CronJob " + p.Name + "-backup", "status Postgres " + p.Name}, Events: []string{"Updated"}}},
		},
	})
}

// Whatever fault is injected, the operator converges to the same state.
func TestReliable(t *testing.T) {
	t.Parallel()
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples", RBAC: "config/rbac",
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			return operon.Run(ctx, "postgres-operator", config, operon.Config{Namespace: namespace},
				operon.API(v1alpha1.AddToScheme), operon.Manage(&Postgres{Image: "postgres"}))
		},
	})
}
