package deploy

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// unanswered is what API servers say when a webhook does not answer.
var unanswered = regexp.MustCompile(`failed calling webhook|conversion webhook for .* failed`)

// hooksAnswer waits until API servers reach the operator's webhooks: each sample of a kind of its own is
// created in a dry run, which asks them. Whether the sample is valid is not the question.
func (d *deployer) hooksAnswer(ctx context.Context) error {
	if !d.operator.Webhooks {
		return nil
	}
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	told := false
	for {
		err := d.unanswered(ctx)
		if err == nil {
			return nil
		}
		if !told {
			told = true
			d.options.say("waiting for webhooks: %v", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the pods are ready, and API servers do not reach the operator's webhooks: %w", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// unanswered is the error of a webhook that does not answer.
func (d *deployer) unanswered(ctx context.Context) error {
	for _, sample := range d.project.Samples {
		if !d.defines(sample.Unstructured) {
			continue
		}
		err := d.try(ctx, sample.DeepCopy())
		if err != nil && unanswered.MatchString(err.Error()) {
			return err
		}
	}
	return nil
}

// try creates an object in a dry run.
func (d *deployer) try(ctx context.Context, object *unstructured.Unstructured) error {
	found, err := d.cluster.mapping(object.GroupVersionKind())
	if err != nil {
		return err
	}
	if found.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	objects, err := d.cluster.objects(object)
	if err != nil {
		return err
	}
	_, err = objects.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// defines tells whether an object is of a kind of the project's own.
func (d *deployer) defines(object *unstructured.Unstructured) bool {
	for _, definition := range d.operator.Definitions {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		if object.GroupVersionKind().Group == group && object.GetKind() == kind {
			return true
		}
	}
	return false
}
