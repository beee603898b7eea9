package csv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/runtime/reconcile"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
)

// Observe implements operon.Observer: it writes the phase.
func (c *Composer) Observe(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, seen *operon.Observed) error {
	p := c.passes.End(csv)
	if p == nil || !p.complete {
		return nil // Compose failed
	}
	if err := c.replaceOLM(ctx, csv, p, seen); err != nil {
		return err
	}
	csv.Status.RequirementStatus, csv.Status.PermissionsDigest, csv.Status.Config = p.requirements, p.granted, p.config
	if p.held {
		if p.facts.RequirementsMet {
			p.facts.Unapplied.Message = "the objects of the operator are not declared"
		}
	} else if err := c.look(ctx, csv, p, seen); err != nil {
		return err
	}
	if left := phase.Advance(&csv.Status, p.facts, c.Clock.Now()); left > 0 {
		seen.RequeueAfter(left)
	}
	if left := c.askAgain(csv, p.facts); left > 0 {
		seen.RequeueAfter(left)
	}
	return nil
}

// askAgain returns when to ask the API server again whether permissions and kinds exist, or 0 if nothing is missing. No watch shows when its
// answer changes, and its authorizers may see new permissions later than the manager does. The time grows with that of the wait.
func (c *Composer) askAgain(csv *v1alpha1.ClusterServiceVersion, facts phase.Facts) time.Duration {
	if facts.RequirementsMet && facts.Problem.Reason != reasonForbidden {
		return 0
	}
	waited := time.Duration(0)
	if at := csv.Status.LastTransitionTime; at != nil {
		waited = c.Clock.Now().Sub(at.Time)
	}
	return min(max(waited, timing.againFirst), timing.againLast)
}

// look adds to the facts what the objects of the operator are like, and writes what is not a child.
func (c *Composer) look(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, p *pass, seen *operon.Observed) error {
	csv.Status.CertsLastUpdated, csv.Status.CertsRotateAt = timeOf(p.issued), timeOf(p.rotateAt)
	if !p.again.IsZero() {
		seen.RequeueAfter(p.again.Sub(c.Clock.Now()))
	}
	works := csv.Status.Phase == v1alpha1.PhaseSucceeded
	reason, message, failed := seen.Unapplied()
	held := ""
	switch {
	case failed && reason == reconcile.ReasonConflict:
		p.facts.Unapplied = phase.Problem{Reason: phase.ReasonComponentFailed, Message: reason + ": " + cmp.Or(p.foreign, message+": delete it, or rename it in the ClusterServiceVersion")}
	case failed:
		p.facts.Unapplied = phase.Problem{Reason: phase.ReasonComponentFailed, Message: reason + ": " + message}
	case reason == reconcile.ReasonWaiting: // for a Deployment that is not ready
		held = message
	case reason != "":
		p.facts.Unapplied.Message = message
	}
	var err error
	if p.facts.Unavailable, err = unavailable(ctx, csv.Namespace, p, works, seen); err != nil {
		return err
	}
	if p.facts.Unavailable == "" && !works {
		p.facts.Unavailable = held
	}
	if failed || p.dryRun {
		return nil
	}
	return c.convert(ctx, csv, p, seen)
}

// unavailable returns the message of the first Deployment or APIService that is not available, or an empty string. works means that the
// operator was available before: the pods of a Deployment may be replaced then.
func unavailable(ctx context.Context, namespace string, p *pass, works bool, seen *operon.Observed) (string, error) {
	for _, name := range p.deployments {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		found, err := seen.Child(ctx, deployment)
		if err != nil {
			return "", err
		}
		if found && works && !isFalse(deployment, appsv1.DeploymentAvailable) && !isFalse(deployment, appsv1.DeploymentProgressing) {
			continue
		}
		if why := waitsFor(deployment, found); why != "" {
			return fmt.Sprintf("waiting for deployment %s to become ready: %s", name, why), nil
		}
	}
	for _, name := range p.apis {
		service := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name}}
		found, err := seen.Child(ctx, service)
		if err != nil {
			return "", err
		}
		if why := waitsForAPI(service, found); why != "" {
			return fmt.Sprintf("waiting for APIService %s to become available: %s", name, why), nil
		}
	}
	return "", nil
}

func isFalse(deployment *appsv1.Deployment, kind appsv1.DeploymentConditionType) bool {
	return slices.ContainsFunc(deployment.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionFalse
	})
}

// waitsForAPI returns why an APIService is not available, or an empty string.
func waitsForAPI(service *apiregistrationv1.APIService, found bool) string {
	if !found {
		return "it does not exist yet"
	}
	for _, condition := range service.Status.Conditions {
		if condition.Type == apiregistrationv1.Available {
			if condition.Status == apiregistrationv1.ConditionTrue {
				return ""
			}
			return condition.Message
		}
	}
	return "it was not checked yet"
}

// waitsFor returns why a Deployment is not available, or an empty string.
func waitsFor(deployment *appsv1.Deployment, found bool) string {
	replicas := int32(1)
	if deployment.Spec.Replicas != nil {
		replicas = *deployment.Spec.Replicas
	}
	status := deployment.Status
	switch {
	case !found:
		return "it does not exist yet"
	case status.ObservedGeneration < deployment.Generation:
		return "its controller has not seen the last change"
	case status.UpdatedReplicas < replicas:
		return fmt.Sprintf("%d out of %d new replicas have been updated", status.UpdatedReplicas, replicas)
	case status.Replicas > status.UpdatedReplicas:
		return fmt.Sprintf("%d old replicas are pending termination", status.Replicas-status.UpdatedReplicas)
	}
	for _, condition := range status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable && condition.Status != corev1.ConditionTrue {
			return fmt.Sprintf("deployment %q not available: %s", deployment.Name, condition.Message)
		}
	}
	if status.AvailableReplicas < replicas {
		return fmt.Sprintf("%d of %d replicas are available", status.AvailableReplicas, replicas)
	}
	return ""
}
