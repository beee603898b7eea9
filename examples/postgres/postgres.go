package main

import (
	"context"
	"crypto/rand"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/postgres/api/v1alpha1"
)

// Postgres runs one server for each object of its kind.
type Postgres struct {
	// Image is the image of the server and of backups, without a tag.
	Image string
}

// Compose declares the server, its credentials and its backups.
func (o *Postgres) Compose(ctx context.Context, p *v1alpha1.Postgres, out *operon.Composition) error {
	credentials := credentialsOf(p)
	if err := out.GeneratedSecret(ctx, credentials, func(data map[string][]byte) {
		if data["password"] == nil {
			data["password"] = []byte(rand.Text())
		}
	}); err != nil {
		return err
	}
	out.Child(serviceOf(p))
	out.Child(o.serverOf(p))
	if p.Spec.Backup != nil {
		out.Child(o.backupsOf(p))
	}
	return nil
}

// Observe reports whether the server accepts connections, and whether the last backup succeeded.
func (o *Postgres) Observe(ctx context.Context, p *v1alpha1.Postgres, seen *operon.Observed) error {
	server := o.serverOf(p)
	found, err := seen.Child(ctx, server)
	if err != nil {
		return err
	}
	p.Status.Ready = found && server.Status.ReadyReplicas == 1
	if p.Spec.Backup == nil {
		return nil
	}
	backups := o.backupsOf(p)
	if _, err := seen.Child(ctx, backups); err != nil {
		return err
	}
	p.Status.LastBackup = backups.Status.LastSuccessfulTime
	last, succeeded := backups.Status.LastScheduleTime, p.Status.LastBackup
	if last != nil && len(backups.Status.Active) == 0 && (succeeded == nil || succeeded.Before(last)) {
		seen.Degraded("BackupFailed", fmt.Sprintf("the backup of %s failed", last.UTC()))
	}
	return nil
}

// Finalize creates a last backup before the server is deleted.
func (o *Postgres) Finalize(ctx context.Context, p *v1alpha1.Postgres, out *operon.Finalization) error {
	if p.Spec.Backup == nil {
		return nil
	}
	last := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: operon.Name(63, p.Name, "last-backup"), Namespace: p.Namespace}}
	found, err := out.Get(ctx, last)
	if err != nil {
		return err
	}
	if !found {
		last.Spec = o.backupsOf(p).Spec.JobTemplate.Spec
		if err := out.Client().Create(ctx, last); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if last.Status.Succeeded == 0 {
		out.Wait("LastBackup", "the last backup is running")
		return nil
	}
	out.Event("BackedUp", "the last backup is complete")
	return client.IgnoreNotFound(out.Client().Delete(ctx, last, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// A method with another signature would never be called.
var (
	_ operon.Observer[*v1alpha1.Postgres]  = (*Postgres)(nil)
	_ operon.Finalizer[*v1alpha1.Postgres] = (*Postgres)(nil)
)
