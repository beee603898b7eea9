package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/core/readiness"
	"github.com/operon-framework/operon/internal/tools/kube"
)

const (
	// revision identifies the template of a ReplicaSet and the current template of a Deployment.
	revision = "deployment.kubernetes.io/revision"
	// simulatedLabel marks nodes that run no programs.
	simulatedLabel = "sim.operon.dev/node"
)

// deploymentKind is the kind of the operator's workload.
var deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// rollout waits until the pods of a Deployment are ready.
type rollout struct {
	cluster         *cluster
	target          Target
	namespace, name string

	ready     int32
	simulated bool

	// unread is the error of the last attempt to read the pods, if the API server did not answer.
	unread  error
	said    string
	trouble trouble
	since   time.Time
	// told reports that the trouble was reported.
	told bool
	// running is the time when a container was first seen running, by its ID.
	running map[string]time.Time
}

// wait returns nil when all pods are ready and have the newest template. It returns an error with the reason if they will not
// become ready, or when ctx ends.
func (r *rollout) wait(ctx context.Context) error {
	tick := time.NewTicker(timing.lookInterval)
	defer tick.Stop()
	for {
		done, err := r.look(ctx)
		if done {
			return nil
		}
		if err != nil && ctx.Err() == nil && !kube.Unavailable(err) {
			return err
		}
		r.unread = err
		select {
		case <-ctx.Done():
			return r.late(ctx)
		case <-tick.C:
		}
	}
}

// late returns the error after the timeout.
func (r *rollout) late(ctx context.Context) error {
	if r.unread != nil && !errors.Is(r.unread, ctx.Err()) {
		return fmt.Errorf("%w: the API server does not answer: %w", context.Cause(ctx), r.unread)
	}
	if r.trouble.text == "" {
		return fmt.Errorf("%w: %s", context.Cause(ctx), r.said)
	}
	return fmt.Errorf("%w: %s", context.Cause(ctx), r.trouble.tell(context.WithoutCancel(ctx), r))
}

// look checks the pods once. An error is final.
func (r *rollout) look(ctx context.Context) (done bool, err error) {
	deployment, err := r.cluster.typed.AppsV1().Deployments(r.namespace).Get(ctx, r.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, fmt.Errorf("the Deployment %s/%s was removed by another client", r.namespace, r.name)
	}
	if err != nil {
		return false, err
	}
	r.ready = deployment.Status.ReadyReplicas
	pods, err := r.pods(ctx, deployment)
	if err != nil {
		return false, err
	}
	r.progress(deployment)
	if readiness.Of(deploymentKind, deployment).Status == readiness.Ready && r.stays(pods) {
		return true, r.whereabouts(ctx, pods)
	}
	newest, err := r.newest(ctx, deployment)
	if err != nil || newest == "" {
		return false, err
	}
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != newest })
	return false, r.judge(ctx, deployment, pods)
}

// stays reports whether the containers of the pods are running, and have been for a while where nothing else shows that they
// work: the status of a Deployment shows the end of a container later than the status of its pod, and the status of a pod later
// than it happens.
func (r *rollout) stays(pods []corev1.Pod) bool {
	if r.running == nil {
		r.running = map[string]time.Time{}
	}
	stays := true
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		for _, container := range pod.Status.ContainerStatuses {
			if container.State.Running == nil {
				stays = false
				continue
			}
			if r.running[container.ContainerID].IsZero() {
				r.running[container.ContainerID] = time.Now()
			}
			proven := container.RestartCount == 0 && hasReadinessProbe(pod, container.Name)
			if !proven && time.Since(r.running[container.ContainerID]) < timing.unproven {
				stays = false
			}
		}
	}
	return stays
}

// hasReadinessProbe reports whether a container of a pod has a readiness probe. Without one, the kubelet reports it as ready as
// soon as it has started.
func hasReadinessProbe(pod corev1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == container && c.ReadinessProbe != nil
	})
}

// newest returns the label value that distinguishes pods of the newest template from earlier ones, whose problems no longer
// matter. It returns "" until the Deployment's status is up to date.
func (r *rollout) newest(ctx context.Context, deployment *appsv1.Deployment) (string, error) {
	if deployment.Status.ObservedGeneration < deployment.Generation {
		return "", nil
	}
	sets, err := r.cluster.typed.AppsV1().ReplicaSets(r.namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(deployment.Spec.Selector)})
	if err != nil {
		return "", err
	}
	for _, set := range sets.Items {
		if set.Annotations[revision] == deployment.Annotations[revision] {
			return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey], nil
		}
	}
	return "", nil
}

// pods returns the pods of the Deployment that have not ended. Evicted pods, and pods of a node that was shut down, may remain for long, and
// others take their place.
func (r *rollout) pods(ctx context.Context, deployment *appsv1.Deployment) ([]corev1.Pod, error) {
	list, err := r.cluster.typed.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(deployment.Spec.Selector)})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, hasEnded), nil
}

func hasEnded(pod corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// progress reports the progress after each change.
func (r *rollout) progress(deployment *appsv1.Deployment) {
	status := deployment.Status
	now := fmt.Sprintf("%d of %d pods ready", min(status.ReadyReplicas, status.UpdatedReplicas), *deployment.Spec.Replicas)
	if status.ObservedGeneration < deployment.Generation {
		now = "the Deployment is not looked at yet"
	}
	if now != r.said {
		r.said = now
		r.target.say("%s", now)
	}
}

// judge returns an error if a problem has lasted long enough.
func (r *rollout) judge(ctx context.Context, deployment *appsv1.Deployment, pods []corev1.Pod) error {
	found := troubleOf(deployment, pods)
	if found.reason != r.trouble.reason {
		r.since, r.told = time.Now(), false
	}
	r.trouble = found
	stands := time.Since(r.since) >= timing.grace
	final := stands && (!found.again || time.Since(r.since) >= timing.secondTry)
	if found.text != "" && !r.told && (stands || !found.usual) {
		r.told = true
		r.target.say("%s", found.text)
	}
	if found.text == "" || !found.lasting || !final {
		return nil
	}
	return errors.New(found.tell(ctx, r))
}

// whereabouts checks whether the pods are on simulated nodes. It reports nothing to a user who may not read nodes.
func (r *rollout) whereabouts(ctx context.Context, pods []corev1.Pod) error {
	for _, pod := range pods {
		node, err := r.cluster.typed.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if node.Labels[simulatedLabel] == "true" {
			r.simulated = true
			r.target.warn("the pods are on simulated nodes, which run no containers, so the operator does nothing; `operon up` runs it on this machine")
			return nil
		}
	}
	return nil
}
