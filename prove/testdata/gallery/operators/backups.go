package operators

import (
	"context"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Phases of a Backup.
const (
	pending   = "Pending"
	running   = "Running"
	succeeded = "Succeeded"
	failed    = "Failed"
)

// newJob is the Job of a Backup, without a name.
func newJob(c client.Client, backup *api.Backup) (*batchv1.Job, error) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: backup.Namespace, Labels: labels(backup)}}
	job.Spec.BackoffLimit = ptr.To(backup.Spec.Retries)
	job.Spec.Template.Labels = labels(backup)
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "backup", Image: backup.Spec.Image, Args: []string{"--of", backup.Spec.Of},
		}},
	}
	return job, controllerutil.SetControllerReference(backup, job, c.Scheme())
}

// keepJob puts back what somebody else changed of a Job that can be changed.
func keepJob(ctx context.Context, c client.Client, backup *api.Backup, job *batchv1.Job) error {
	wanted := with(job.Labels, labels(backup))
	if maps.Equal(job.Labels, wanted) && ptr.Deref(job.Spec.BackoffLimit, -1) == backup.Spec.Retries {
		return nil
	}
	job.Labels, job.Spec.BackoffLimit = wanted, ptr.To(backup.Spec.Retries)
	return c.Update(ctx, job)
}

// phaseOf is how far a Job is.
func phaseOf(job *batchv1.Job) string {
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			return succeeded
		case batchv1.JobFailed:
			return failed
		}
	}
	if job.Status.Active > 0 {
		return running
	}
	return pending
}

// reportBackup writes a Backup's status, where it is not that already.
func reportBackup(ctx context.Context, c client.Client, backup *api.Backup, job, phase string) error {
	before := backup.Status.DeepCopy()
	backup.Status.ObservedGeneration = backup.Generation
	backup.Status.Job, backup.Status.Phase = job, phase
	meta.SetStatusCondition(&backup.Status.Conditions, readiness(backup, phase == succeeded, "Done"))
	if equality.Semantic.DeepEqual(*before, backup.Status) {
		return nil
	}
	return c.Status().Update(ctx, backup)
}

// jobsOf lists the Jobs that belong to a Backup, whatever became of their labels.
func jobsOf(ctx context.Context, from client.Reader, backup *api.Backup) ([]batchv1.Job, error) {
	list := &batchv1.JobList{}
	if err := from.List(ctx, list, client.InNamespace(backup.Namespace)); err != nil {
		return nil, err
	}
	var own []batchv1.Job
	for _, job := range list.Items {
		if metav1.IsControlledBy(&job, backup) {
			own = append(own, job)
		}
	}
	return own, nil
}

// followJob reports what the Job is doing that a Backup's status names.
func followJob(ctx context.Context, c client.Client, backup *api.Backup) error {
	job := &batchv1.Job{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: backup.Namespace, Name: backup.Status.Job}, job); err != nil {
		return client.IgnoreNotFound(err)
	}
	return reportBackup(ctx, c, backup, job.Name, phaseOf(job))
}
