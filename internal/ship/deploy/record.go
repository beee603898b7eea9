package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/tools/kube"
)

const (
	// recordLabel is the label of the record of each deployment, with the operator's name.
	recordLabel = "operon.dev/deployment"
	// tooling names the tool that manages the set of objects.
	tooling = "operon/v1"
	// upLabel is the label of objects that `operon up` created.
	upLabel = "operon.dev/up"
)

// record is the data about a deployment in the cluster: a ConfigMap in the operator's namespace. It is written before
// anything else, so that all objects of a deployment can be found after any interruption.
type record struct {
	operator, namespace string
	// kinds are the kinds of objects that the deployment has or may have, and namespaces the namespaces besides its own.
	kinds      map[schema.GroupKind]bool
	namespaces map[string]bool
	// definitions are the definitions that the operator uses, regardless of their origin.
	definitions []string
	image       string
	// module is the path of the project's module, without a major version, and main its main package: two programs can have the same name.
	// They are empty if unknown.
	module, main string
	// begun identifies the process that deploys it, with a unique word. It is empty after this is done.
	begun string
}

func newRecord(operator, namespace string) *record {
	return &record{operator: operator, namespace: namespace, kinds: map[schema.GroupKind]bool{}, namespaces: map[string]bool{}}
}

func (r *record) name() string { return r.operator + "-deployment" }

// id returns the value of the label of all objects of the deployment.
func (r *record) id() string {
	return plan.ApplySetID(plan.ID{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: r.namespace, Name: r.name()})
}

// of returns a record of the objects.
func (r *record) of(objects []*unstructured.Unstructured) *record {
	made := newRecord(r.operator, r.namespace)
	for _, object := range objects {
		made.kinds[object.GroupVersionKind().GroupKind()] = true
		if space := object.GetNamespace(); space != "" && space != r.namespace {
			made.namespaces[space] = true
		}
		if kube.IsCRD(object) {
			made.definitions = append(made.definitions, object.GetName())
		}
	}
	return made
}

// with returns a record of the existing and the wanted objects.
func (r *record) with(before *record) *record {
	made := r.of(nil)
	made.image, made.module, made.main, made.begun = r.image, r.module, r.main, r.begun
	for _, one := range []*record{r, before} {
		if one == nil {
			continue
		}
		for kind := range one.kinds {
			made.kinds[kind] = true
		}
		for space := range one.namespaces {
			made.namespaces[space] = true
		}
		made.definitions = append(made.definitions, one.definitions...)
	}
	slices.Sort(made.definitions)
	made.definitions = slices.Compact(made.definitions)
	return made
}

// object returns the record as it is stored.
func (r *record) object() *unstructured.Unstructured {
	var spaces []string
	for space := range r.namespaces {
		spaces = append(spaces, space)
	}
	slices.Sort(spaces)
	// An empty word is written, too: a field that an apply leaves out stays as another field manager set it.
	data := map[string]any{"operator": r.operator, "image": r.image, "module": r.module, "main": r.main, "definitions": strings.Join(r.definitions, ","), "begun": r.begun}
	made := &unstructured.Unstructured{Object: map[string]any{"data": data}}
	made.SetAPIVersion("v1")
	made.SetKind("ConfigMap")
	made.SetNamespace(r.namespace)
	made.SetName(r.name())
	made.SetLabels(map[string]string{recordLabel: r.operator, plan.SetLabel: r.id()})
	made.SetAnnotations(map[string]string{
		plan.ToolingAnnotation: tooling, plan.KindsAnnotation: plan.GroupKinds(r.kinds), plan.NamespacesAnnotation: strings.Join(spaces, ","),
	})
	return made
}

// readRecord returns the record of a deployment, or nil if there is none.
func (c *cluster) readRecord(ctx context.Context, operator, namespace string) (*record, error) {
	r := newRecord(operator, namespace)
	found, err := c.Get(ctx, r.object())
	if err != nil {
		return nil, fmt.Errorf("read the record of the deployment: %w", err)
	}
	if found == nil {
		return nil, nil
	}
	if found.GetLabels()[recordLabel] != operator {
		return nil, fmt.Errorf("the ConfigMap %s/%s has the name of a deployment's record, but does not belong to a deployment: remove it, or choose another --namespace", namespace, r.name())
	}
	return parseRecord(found), nil
}

// records returns the records of all deployments that the user may read.
func (c *cluster) records(ctx context.Context) ([]*record, error) {
	stored, err := c.List(ctx, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "", recordLabel)
	if err != nil {
		return nil, fmt.Errorf("look for other deployments: %w", err)
	}
	var all []*record
	for _, one := range stored {
		all = append(all, parseRecord(one))
	}
	return all, nil
}

func parseRecord(stored *unstructured.Unstructured) *record {
	r := newRecord(stored.GetLabels()[recordLabel], stored.GetNamespace())
	for _, kind := range plan.ParseGroupKinds(stored.GetAnnotations()[plan.KindsAnnotation]) {
		r.kinds[kind] = true
	}
	for _, space := range words(stored.GetAnnotations()[plan.NamespacesAnnotation]) {
		r.namespaces[space] = true
	}
	data, _, _ := unstructured.NestedStringMap(stored.Object, "data")
	r.definitions, r.image, r.begun = words(data["definitions"]), data["image"], data["begun"]
	r.module, r.main = data["module"], data["main"]
	return r
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

// members returns all objects that belong to the deployment.
func (c *cluster) members(ctx context.Context, r *record) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	var problems []error
	for kind := range r.kinds {
		found, err := c.labelled(ctx, r, kind)
		if err != nil {
			problems = append(problems, err)
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return strings.Compare(addressOf(a), addressOf(b)) })
	return all, errors.Join(problems...)
}

// labelled returns the objects of a kind that belong to the deployment. A kind that no longer exists has none.
func (c *cluster) labelled(ctx context.Context, r *record, kind schema.GroupKind) ([]*unstructured.Unstructured, error) {
	found, err := c.Mapping(kind.WithVersion(""))
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	spaces := []string{""}
	if found.Scope.Name() == meta.RESTScopeNameNamespace {
		spaces = []string{r.namespace}
		for space := range r.namespaces {
			spaces = append(spaces, space)
		}
	}
	var all []*unstructured.Unstructured
	for _, space := range spaces {
		members, err := c.List(ctx, found.Resource, space, plan.PartOfLabel+"="+r.id())
		if apierrors.IsForbidden(err) && (kind == namespaces || kind.Kind == "CustomResourceDefinition") {
			members, err = c.namedMembers(ctx, r, found.GroupVersionKind, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, members...)
	}
	return all, nil
}

// namespaces is the kind of namespaces.
var namespaces = schema.GroupKind{Kind: "Namespace"}

// namedMembers returns the namespace or the definitions of a deployment for a user who may only read them by name. If the names of the definitions
// are unknown, it returns the error of their list.
func (c *cluster) namedMembers(ctx context.Context, r *record, kind schema.GroupVersionKind, refused error) ([]*unstructured.Unstructured, error) {
	sample := &unstructured.Unstructured{}
	sample.SetGroupVersionKind(kind)
	names := []string{r.namespace}
	if kube.IsCRD(sample) {
		names = r.definitions
	}
	if len(names) == 0 {
		return nil, refused
	}
	var all []*unstructured.Unstructured
	for _, name := range names {
		wanted := sample.DeepCopy()
		wanted.SetName(name)
		live, err := c.Get(ctx, wanted)
		if err != nil {
			return nil, err
		}
		if live != nil && partOf(live) == r.id() {
			all = append(all, live)
		}
	}
	return all, nil
}
