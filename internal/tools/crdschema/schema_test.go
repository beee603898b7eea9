package crdschema_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/crdschema"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/local/localtest"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Site, plural: sites, singular: site, listKind: SiteList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          status: {type: object, properties: {replicas: {type: integer}}}
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: min is above max}
            properties:
              replicas: {type: integer}
              min: {type: integer, default: 1}
              max: {type: integer, maximum: 9}
              colour: {type: string, enum: [red, green], x-kubernetes-validations: [{rule: self == oldSelf, message: the colour is immutable}]}
              name: {type: string, maxLength: 5, pattern: "^[a-z]*$"}
              odd: {type: integer, x-kubernetes-validations: [{rule: "self % 2 == 1", message: must be odd}]}
              note: {type: string, nullable: true}
              port: {x-kubernetes-int-or-string: true}
              time: {type: string, format: date-time}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              users: {type: array, maxItems: 2, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, mode: {type: string, default: read}}}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              quantity: {type: string, x-kubernetes-validations: [{rule: "isQuantity(self)"}]}
`

// corpus lists specs, some valid and some not.
var corpus = []string{
	`{}`, `{unknown: 1}`, `{min: null}`, `{note: null}`, `{max: null}`, `{colour: red}`, `{colour: green}`, `{colour: blue}`, `{name: abc}`, `{name: toolong}`, `{name: A}`,
	`{min: 3, max: 2}`, `{max: 0}`, `{max: 10}`, `{max: 10, min: 11}`, `{odd: 2}`, `{odd: 2, name: A}`, `{odd: 2, colour: blue}`, `{odd: "1"}`, `{replicas: -1}`, `{replicas: 4294967296}`, `{replicas: 3}`,
	`{port: 80}`, `{port: http}`, `{port: true}`, `{time: yesterday}`, `{time: "2026-01-01T00:00:00Z"}`, `{set: [a, a]}`, `{set: [a, b]}`, `{set: [a, a], odd: 2}`,
	`{users: [{name: a}, {name: a}]}`, `{users: [{name: a}, {name: b}]}`, `{users: [{mode: write}]}`, `{users: [{name: a}, {name: b}, {name: c}]}`,
	`{template: {}}`, `{template: {apiVersion: v1, kind: Pod, metadata: {name: a}, any: thing}}`, `{template: {apiVersion: v1, kind: Pod, metadata: {name: A_b}}}`, `{template: {apiVersion: v1, kind: Pod, metadata: {labels: {a: 1}}}}`,
	`{free: {a: {b: 1}}}`, `{quantity: 1Gi}`, `{quantity: much}`,
}

// before lists specs that are stored, and then changed to each spec of the corpus. The last two are invalid, but were stored
// under a schema that allowed them.
var before = []string{`{}`, `{colour: red}`, `{users: [{name: a}], set: [a], replicas: 2}`, `{max: 50}`, `{odd: 2}`}

var lax = strings.NewReplacer("maximum: 9", "maximum: 99", "self % 2 == 1", "true")

func TestARealAPIServerAgrees(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	group := env.Namespace + ".operon.dev"
	text := strings.ReplaceAll(definition, "GROUP", group)
	install(t, env, lax.Replace(text))
	quiet := rest.CopyConfig(env.Config)
	quiet.WarningHandler = rest.NoWarnings{}
	cluster, err := dynamic.NewForConfig(quiet)
	if err != nil {
		t.Fatal(err)
	}
	sites := cluster.Resource(runtimeschema.GroupVersionResource{Group: group, Version: "v1", Resource: "sites"}).Namespace(env.Namespace)
	var stored []*unstructured.Unstructured
	for i, spec := range before {
		made, err := sites.Create(t.Context(), site(t, group, fmt.Sprint("site-", i), spec), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, made)
	}
	schema := install(t, env, text)
	dry := []string{metav1.DryRunAll}
	localtest.Eventually(t, "the strict schema to be served", func(ctx context.Context) error {
		_, err := sites.Create(ctx, site(t, group, "site", `{max: 50}`), metav1.CreateOptions{DryRun: dry})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	for _, spec := range corpus {
		object := site(t, group, "new", spec)
		got, err := sites.Create(t.Context(), object, metav1.CreateOptions{DryRun: dry})
		written := schema.Written(object.Object)
		agree(t, "create "+spec, schema.Create(t.Context(), written), written, got, err)
		for i, old := range stored {
			changed := site(t, group, old.GetName(), spec)
			changed.SetResourceVersion(old.GetResourceVersion())
			got, err := sites.Update(t.Context(), changed, metav1.UpdateOptions{DryRun: dry})
			written := schema.Written(changed.Object)
			agree(t, "change "+before[i]+" to "+spec, schema.Update(t.Context(), written, schema.Written(old.Object)), written, got, err)
		}
	}
}

func install(t *testing.T, env *localtest.Env, text string) *crdschema.Schema {
	t.Helper()
	crd, typed := &unstructured.Unstructured{}, &apiextensionsv1.CustomResourceDefinition{}
	if err := errors.Join(yaml.Unmarshal([]byte(text), crd), yaml.Unmarshal([]byte(text), typed)); err != nil {
		t.Fatal(err)
	}
	if err := kube.InstallCRDs(t.Context(), env.Config, "test", crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cluster, err := dynamic.NewForConfig(env.Config)
		if err == nil {
			err = cluster.Resource(kube.CRDs).Delete(context.WithoutCancel(t.Context()), crd.GetName(), metav1.DeleteOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	schema, err := crdschema.New(&typed.Spec.Versions[0])
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func site(t *testing.T, group, name, spec string) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: %s/v1, kind: Site, metadata: {name: %s}, spec: %s, status: {replicas: 7}}", group, name, spec)
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = made.UnmarshalJSON(encoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// agree compares the errors or the stored objects.
func agree(t *testing.T, what string, ours field.ErrorList, written map[string]any, got *unstructured.Unstructured, err error) {
	t.Helper()
	var refused *apierrors.StatusError
	if err != nil && (!errors.As(err, &refused) || !apierrors.IsInvalid(err)) {
		if len(ours) == 0 || !apierrors.IsBadRequest(err) {
			t.Errorf("%s: the API server answers %v, we have %v", what, err, ours)
		}
		return
	}
	if err == nil {
		if len(ours) > 0 || !reflect.DeepEqual(written["spec"], got.Object["spec"]) || written["status"] != nil {
			t.Errorf("%s: the API server stores %v, we have %v, %v", what, got.Object["spec"], written, ours)
		}
		return
	}
	var want, have []string
	for _, cause := range refused.ErrStatus.Details.Causes {
		if !strings.Contains(cause.Message, "some validation rules were not checked") {
			want = append(want, strings.TrimPrefix(cause.Field, ".")+": "+string(cause.Type))
		}
	}
	for _, one := range ours {
		have = append(have, one.Field+": "+string(one.Type))
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		t.Errorf("%s: the API server rejects %q, we reject %q", what, want, have)
	}
}
