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

// hooksAnswer waits until API servers reach the operator's webhooks: it creates each sample of the project's own kinds in a
// dry run, which calls the webhooks. The samples need not be valid.
func (d *deployer) hooksAnswer(ctx context.Context) error {
	if !d.operator.Webhooks {
		return nil
	}
	tick := time.NewTicker(timing.lookInterval)
	defer tick.Stop()
	var last error
	for {
		unchecked, err := d.unanswered(ctx)
		if err == nil {
			if unchecked != "" {
				d.result.Notes = append(d.result.Notes, unchecked)
				d.options.warn("%s", unchecked)
			}
			return nil
		}
		if last == nil {
			d.options.say("waiting for webhooks: %v", err)
		}
		if last == nil || ctx.Err() == nil {
			last = err // the timeout is reported already
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the pods are ready, but API servers cannot reach the operator's webhooks: %w", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// unanswered returns the error for a sample if the API server cannot decide whether the sample is valid. If no sample reaches the webhooks, it
// returns a note.
func (d *deployer) unanswered(ctx context.Context) (unchecked string, err error) {
	reached, why := false, "the project has no sample of its kinds"
	for _, sample := range d.project.Samples {
		own, err := d.defines(sample.Unstructured)
		if err != nil {
			return "", err
		}
		if !own {
			continue
		}
		err = d.try(ctx, sample.DeepCopy())
		switch {
		case !answered(err):
			return "", err
		case bypasses(err):
			why = err.Error()
		default:
			reached = true
		}
	}
	if reached {
		return "", nil
	}
	return "whether API servers reach the webhooks was not checked: " + why, nil
}

// bypasses reports whether the API server rejected an object before it called webhooks: the user may not create it, or its namespace does not
// exist.
func bypasses(err error) bool {
	return lacksNamespace(err) || apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "denied the request")
}

// answered reports whether an API server answered, which includes that a webhook denied the object. It is not an answer if
// the server reports an internal error because it does not reach a webhook, or if there is no response, for example after a
// timeout.
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
	err := d.dryRun(ctx, object)
	if lacksNamespace(err) && len(d.operator.Watch) == 0 {
		object.SetNamespace(d.operator.Namespace) // it exists
		return d.dryRun(ctx, object)
	}
	return err
}

func (d *deployer) dryRun(ctx context.Context, object *unstructured.Unstructured) error {
	objects, err := d.cluster.Objects(object)
	if err != nil {
		return err
	}
	_, err = objects.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// lacksNamespace reports whether an object could not be created because its namespace does not exist. Then no webhook was called.
func lacksNamespace(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// asked returns the namespace in which a sample is created to call webhooks: one of the namespaces in which the operator
// works.
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
