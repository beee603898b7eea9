package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// hooksAnswer waits until API servers reach the operator's webhooks: each sample of a kind of its own is
// created in a dry run, which asks them. Whether the sample is valid is not the question.
func (d *deployer) hooksAnswer(ctx context.Context) error {
	if !d.operator.Webhooks {
		return nil
	}
	tick := time.NewTicker(timing.lookInterval)
	defer tick.Stop()
	var last error
	for {
		err := d.unanswered(ctx)
		if err == nil {
			return nil
		}
		if last == nil {
			d.options.say("waiting for webhooks: %v", err)
		}
		if last == nil || ctx.Err() == nil {
			last = err // that the time is over is told already
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the pods are ready, and API servers do not reach the operator's webhooks: %w", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// unanswered is the error of a sample of which the API server cannot report whether it is valid.
func (d *deployer) unanswered(ctx context.Context) error {
	for _, sample := range d.project.Samples {
		own, err := d.defines(sample.Unstructured)
		if err != nil {
			return err
		}
		if !own {
			continue
		}
		if err := d.try(ctx, sample.DeepCopy()); !answered(err) {
			return err
		}
	}
	return nil
}

// answered reports whether an API server has come to an answer, be it that a webhook denies the object. A
// webhook that it does not reach is an internal error to it, and none at all, as when time is over, is no answer.
func answered(err error) bool {
	if err == nil {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code < http.StatusInternalServerError && code != http.StatusTooManyRequests || strings.Contains(err.Error(), "denied the request")
}

// try creates an object in a dry run.
func (d *deployer) try(ctx context.Context, object *unstructured.Unstructured) error {
	if err := d.cluster.Place(object, d.asked("")); err != nil {
		return err
	}
	if object.GetNamespace() != "" {
		object.SetNamespace(d.asked(object.GetNamespace()))
	}
	objects, err := d.cluster.Objects(object)
	if err != nil {
		return err
	}
	_, err = objects.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// asked is the namespace in which API servers ask webhooks about a sample: one of those that the operator works in.
func (d *deployer) asked(namespace string) string {
	if watched := d.operator.Watch; len(watched) > 0 && !slices.Contains(watched, namespace) {
		return watched[0]
	}
	return cmp.Or(namespace, metav1.NamespaceDefault)
}

// defines reports whether the project defines the kind of an object.
func (d *deployer) defines(object *unstructured.Unstructured) (bool, error) {
	for _, definition := range d.operator.Definitions {
		crd, err := kube.ReadCRD(definition)
		if err != nil || crd.Defines() == object.GroupVersionKind().GroupKind() {
			return err == nil, err
		}
	}
	return false, nil
}
