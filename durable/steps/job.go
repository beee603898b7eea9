package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
)

// KeyLabel is the label that holds a step's key on the objects that the step creates.
const KeyLabel = "operon.dev/step"

// JobDone is the result of a Job.
type JobDone struct {
	Name      string      `json:"name"`
	StartedAt metav1.Time `json:"startedAt,omitzero"`
	EndedAt   metav1.Time `json:"endedAt,omitzero"`
}

// Job runs a Job until it ends. The step's key becomes part of its name, so that it is created once. A Job that
// fails fails the step: the Job itself configures how often its pods are retried. It is deleted with its pods when
// the run has ended; ttlSecondsAfterFinished is ignored.
//
// The operator needs permissions to get, list, watch, create and delete jobs.
func Job(name string, job *batchv1.Job) durable.Step[JobDone] {
	keyed := func(a *durable.Attempt) *batchv1.Job {
		made := job.DeepCopy()
		made.Name = jobName(job, a.Key)
		made.Labels = labelled(job.Labels, a.Key)
		made.Spec.TTLSecondsAfterFinished = nil // without the Job, the step would create it again
		return made
	}
	if err := checkJob(job); err != nil {
		return refusing[JobDone](name, err)
	}
	return durable.Step[JobDone]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (JobDone, error) {
			made := keyed(a)
			found := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: made.Name, Namespace: made.Namespace}}
			there, err := a.Get(ctx, found)
			if err != nil {
				return JobDone{}, err
			}
			if !there {
				err := a.Client.Create(ctx, made)
				if err != nil && !apierrors.IsAlreadyExists(err) {
					return JobDone{}, refused(err)
				}
				return JobDone{}, durable.Wait(fmt.Sprintf("for the Job %s to begin", made.Name))
			}
			return jobEnd(found)
		},
		Finally: func(ctx context.Context, a *durable.Attempt, _ JobDone) error {
			err := a.Client.Delete(ctx, keyed(a), client.PropagationPolicy(metav1.DeletePropagationBackground))
			return client.IgnoreNotFound(err)
		},
	}
}

func jobName(job *batchv1.Job, key string) string { return fmt.Sprintf("%s-%s", job.Name, key[:10]) }

// checkJob returns an error if no Job can have the name and namespace.
func checkJob(job *batchv1.Job) error {
	if job.Name == "" || job.Namespace == "" {
		return errors.New("the Job needs a name and a namespace")
	}
	if wrong := validation.IsDNS1123Subdomain(jobName(job, anyKey)); len(wrong) > 0 {
		return fmt.Errorf("no Job can have the name %q: %s", job.Name, wrong[0])
	}
	if wrong := validation.IsDNS1123Label(job.Namespace); len(wrong) > 0 {
		return fmt.Errorf("no Job can have the namespace %q: %s", job.Namespace, wrong[0])
	}
	return nil
}

// anyKey has the length of a key.
const anyKey = "00000000000000000000000000000000"

// refusing returns a step that fails. It has no cleanup: cleaning up what cannot exist may never succeed.
func refusing[T any](name string, why error) durable.Step[T] {
	return durable.Step[T]{Name: name, Do: func(context.Context, *durable.Attempt) (none T, _ error) { return none, durable.Fail(why) }}
}

// jobEnd returns how a Job ended, or an error that states that it has not ended.
func jobEnd(job *batchv1.Job) (JobDone, error) {
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			done := JobDone{Name: job.Name, EndedAt: c.LastTransitionTime}
			if job.Status.StartTime != nil {
				done.StartedAt = *job.Status.StartTime
			}
			return done, nil
		case batchv1.JobFailed:
			return JobDone{}, durable.Fail(fmt.Errorf("the Job %s failed: %s: %s", job.Name, c.Reason, c.Message))
		}
	}
	return JobDone{}, durable.WaitFor(time.Minute, fmt.Sprintf("for the Job %s: %d pods at work, %d failed", job.Name, job.Status.Active, job.Status.Failed))
}

// refused returns an error that prevents further attempts if the API server rejects an object as invalid.
func refused(err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return durable.Fail(err)
	}
	return err
}

func labelled(labels map[string]string, key string) map[string]string {
	all := map[string]string{KeyLabel: key}
	for name, value := range labels {
		all[name] = value
	}
	return all
}
