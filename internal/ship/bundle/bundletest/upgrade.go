package bundletest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// noPrevious is the reason of stages that need a previous version.
const noPrevious = skipError("there is no previous version: name its bundle with --from")

// upgrade upgrades the previous version with its samples, and creates the samples of the new one.
func (t *test) upgrade(ctx context.Context) (Stage, error) {
	stage := Stage{Version: t.bundle.CSV.Name}
	if t.previous == nil {
		return stage, noPrevious
	}
	if !leads(t.previous, t.bundle) {
		stage.Notes = append(stage.Notes, fmt.Sprintf("the CSV does not name %s in spec.replaces, spec.skips or olm.skipRange: the channel has to", t.previous.CSV.Name))
	}
	stage.Notes = append(stage.Notes, t.notLoaded(t.bundle)...)
	before := map[string]*unstructured.Unstructured{}
	if t.watching != nil {
		before = flat(t.watching.Snapshot().Roots)
	}
	if err := t.offer(ctx, t.previous, t.bundle); err != nil {
		return stage, err
	}
	if err := t.await(ctx, t.installed(ctx, t.bundle)); err != nil {
		return stage, err
	}
	notes, err := t.startOperator(ctx, t.bundle)
	stage.Notes = append(stage.Notes, notes...)
	if err != nil {
		return stage, err
	}
	if err := t.create(ctx, t.bundle); err != nil {
		return stage, err
	}
	if err := t.watch(ctx, t.bundle); err != nil {
		return stage, err
	}
	notes, err = t.ready(ctx, timing.settled) // the new operator has looked at objects that were ready before
	stage.Notes = append(stage.Notes, notes...)
	if err != nil {
		return stage, err
	}
	lost, notes := t.compare(before, flat(t.watching.Snapshot().Roots))
	stage.Notes = append(stage.Notes, notes...)
	if len(lost) > 0 {
		return stage, fmt.Errorf("%s", strings.Join(lost, "\n"))
	}
	return stage, nil
}

// flat returns all objects of a tree, by address.
func flat(nodes []*tree.Node) map[string]*unstructured.Unstructured {
	all := map[string]*unstructured.Unstructured{}
	for _, node := range nodes {
		if node.State != tree.Missing {
			all[node.Address()] = node.Object
		}
		maps.Copy(all, flat(node.Children))
	}
	return all
}

// compare returns what the upgrade has broken: samples that are not the same objects, and pods that ended although their template is the same.
// Other children that are gone are notes.
func (t *test) compare(before, after map[string]*unstructured.Unstructured) (lost, notes []string) {
	for _, address := range slices.Sorted(maps.Keys(before)) {
		was, is := before[address], after[address]
		same := is != nil && is.GetUID() == was.GetUID()
		switch {
		case same:
		case t.created(was):
			lost = append(lost, address+" was deleted by the upgrade")
		case was.GetKind() == "Pod":
			if by := workload(was, before); by != nil && unchanged(by, after) {
				lost = append(lost, fmt.Sprintf("%s was replaced, although the template of %s is the same", address, tree.Address(by)))
			}
		case was.GetKind() != "ReplicaSet":
			notes = append(notes, address+" was deleted by the upgrade")
		}
	}
	return lost, notes
}

// workload returns the topmost owner of an object that has a template of pods.
func workload(of *unstructured.Unstructured, all map[string]*unstructured.Unstructured) *unstructured.Unstructured {
	var found *unstructured.Unstructured
	for owner := ownerOf(of, all); owner != nil; owner = ownerOf(owner, all) {
		if template(owner) != nil {
			found = owner
		}
	}
	return found
}

func ownerOf(of *unstructured.Unstructured, all map[string]*unstructured.Unstructured) *unstructured.Unstructured {
	by := metav1.GetControllerOf(of)
	if by == nil {
		return nil
	}
	for _, object := range all {
		if object.GetUID() == by.UID {
			return object
		}
	}
	return nil
}

// unchanged reports whether a workload exists with the same template and at least as many replicas.
func unchanged(was *unstructured.Unstructured, after map[string]*unstructured.Unstructured) bool {
	is := after[tree.Address(was)]
	if is == nil || !reflect.DeepEqual(template(was), template(is)) {
		return false
	}
	before, _, _ := unstructured.NestedInt64(was.Object, "spec", "replicas")
	now, _, _ := unstructured.NestedInt64(is.Object, "spec", "replicas")
	return now >= before
}

// template returns the template of the pods of a workload, or nil.
func template(of *unstructured.Unstructured) map[string]any {
	found, _, _ := unstructured.NestedMap(of.Object, "spec", "template")
	return found
}

// rollback reports what the CRDs of the previous version would do to the objects that are stored now.
func (t *test) rollback(ctx context.Context) (Stage, error) {
	if t.previous == nil {
		return Stage{}, noPrevious
	}
	stage := Stage{Version: t.previous.CSV.Name}
	var definitions []*unstructured.Unstructured
	for _, one := range t.previous.CRDs {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(one.Typed)
		if err != nil {
			return stage, err
		}
		definition := &unstructured.Unstructured{Object: fields}
		definition.SetGroupVersionKind(kube.CRDs.GroupVersion().WithKind("CustomResourceDefinition"))
		delete(definition.Object, "status")
		definitions = append(definitions, definition)
	}
	report, err := crdcompat.Check(ctx, t.config, nil, definitions...)
	if err != nil {
		return stage, err
	}
	looked, same := 0, true
	for _, one := range report.Definitions {
		same = same && one.State == crdcompat.Unchanged
		looked += one.Looked
		for _, finding := range one.Findings {
			if finding.Breaks {
				stage.Notes = append(stage.Notes, fmt.Sprintf("%s: %s", one.Name, finding))
			}
		}
	}
	stage.Message = fmt.Sprintf("the CRDs of %s can read and write all stored objects (%d checked)", t.previous.CSV.Name, looked)
	switch {
	case same:
		stage.Message = fmt.Sprintf("the CRDs of %s are the same", t.previous.CSV.Name)
	case !report.Safe():
		stage.Message = fmt.Sprintf("there is no way back to %s without a loss, because its CRDs do not fit the stored objects", t.previous.CSV.Name)
	}
	return stage, nil
}
