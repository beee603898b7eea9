package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/local/localtest"
)

// shelf is a kind for one test, with the versions v1beta1 and v1, which have the same fields.
type shelf struct {
	*fixture
	group string
	// elsewhere is an empty namespace: an operator that manages it writes boxes only to migrate them.
	elsewhere string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	w := newFixture(t)
	w.Must(apiextensionsv1.AddToScheme(w.Client.Scheme()))
	s := &shelf{w, w.Namespace + ".operon.dev", localtest.Shared(t).Namespace}
	s.define("v1beta1", nil, "v1beta1", "v1")
	t.Cleanup(func() {
		localtest.Eventually(w.Afterwards(), "the definition to go", func(ctx context.Context) error {
			return w.Client.Delete(ctx, s.definition())
		})
	})
	return s
}

func (s *shelf) definition() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "boxes." + s.group}}
}

// define sets the versions of the CRD, and the stored one. conversion may be nil.
func (s *shelf) define(stored string, conversion map[string]any, versions ...string) {
	s.Helper()
	if conversion == nil {
		conversion = map[string]any{"strategy": "None"}
	}
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	var all []any
	for _, name := range versions {
		all = append(all, map[string]any{
			"name": name, "served": true, "storage": name == stored, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": open, "status": open}}},
		})
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "boxes." + s.group},
		"spec": map[string]any{
			"group": s.group, "scope": "Namespaced", "versions": all, "conversion": conversion,
			"names": map[string]any{"kind": "Box", "plural": "boxes", "singular": "box", "listKind": "BoxList"},
		},
	}}
	s.Must(kube.InstallCRDs(s.Afterwards().Context(), s.Config, "test", definition))
}

// fill creates boxes of an older version.
func (s *shelf) fill(names ...string) {
	s.Helper()
	for _, name := range names {
		b := s.box("v1beta1", name)
		s.Must(unstructured.SetNestedField(b.Object, name, "spec", "data", "name"))
		s.Must(s.Client.Create(s.Context(), b))
	}
}

func (s *shelf) box(version, name string) *unstructured.Unstructured {
	b := &unstructured.Unstructured{}
	b.SetGroupVersionKind(schema.GroupVersionKind{Group: s.group, Version: version, Kind: "Box"})
	b.SetNamespace(s.Namespace)
	b.SetName(name)
	return b
}

// add registers Box as the kind's version v1.
func (s *shelf) add(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schema.GroupVersion{Group: s.group, Version: "v1"}, &boxtest.Box{}, &boxtest.BoxList{})
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Group: s.group, Version: "v1"})
	return nil
}

// operate runs an operator for boxes in a namespace, with log as its logger.
func (s *shelf) operate(in string, config *rest.Config, log *slog.Logger, options ...operon.ManageOption) (*boxtest.Traffic, func()) {
	nothing := boxtest.ComposeFunc(func(*boxtest.Box, *operon.Composition) error { return nil })
	return s.RunWith(config, operon.Config{Namespace: in, Log: log}, operon.API(s.add), operon.Manage(nothing, options...))
}

func (s *shelf) stored(versions ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		definition := s.definition()
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return err
		}
		if !slices.Equal(definition.Status.StoredVersions, versions) {
			return fmt.Errorf("the stored versions are %q", definition.Status.StoredVersions)
		}
		return nil
	}
}

// readable checks that boxes can be read in a version, with their contents.
func (s *shelf) readable(version string, names ...string) {
	s.Helper()
	for _, name := range names {
		b := s.box(version, name)
		s.Must(s.Client.Get(s.Context(), client.ObjectKeyFromObject(b), b))
		if got, _, _ := unstructured.NestedString(b.Object, "spec", "data", "name"); got != name {
			s.Errorf("%s %s holds %v", version, name, b.Object["spec"])
		}
	}
}

// rewrites returns the requests that write boxes without changes.
func rewrites(requests *boxtest.Traffic) []string {
	return slices.DeleteFunc(requests.All(true), func(request string) bool {
		return !strings.HasPrefix(request, http.MethodPatch) || !strings.Contains(request, "/boxes/") || strings.HasSuffix(request, "/status")
	})
}

// An operator that is killed during a migration resumes it. After the migration, no object is stored in the older version: if
// that version is removed, all objects can still be read.
func TestStorageIsMigrated(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	names := []string{"a", "b", "c", "d", "e", "f"}
	s.fill(names...)
	s.define("v1", nil, "v1beta1", "v1")
	s.Must(s.stored("v1beta1", "v1")(t.Context()))

	dying, died := doomed(s.Config, 3)
	_, kill := s.operate(s.elsewhere, dying, nil, operon.MigrateStorage())
	s.Eventually("three boxes to be rewritten", func(ctx context.Context) error {
		select {
		case <-died:
			return nil
		default:
			return errors.New("not yet")
		}
	})
	kill()
	s.Must(s.stored("v1beta1", "v1")(t.Context()))

	requests, stop := s.operate(s.elsewhere, s.Config, nil, operon.MigrateStorage())
	s.Eventually("the older version to be struck out", s.stored("v1"))
	if got := rewrites(requests); len(got) != 3 {
		t.Errorf("the second operator wrote %q, want the three that the first did not", got)
	}
	stop()
	s.define("v1", nil, "v1")
	s.readable("v1", names...)

	requests, _ = s.operate(s.elsewhere, s.Config, nil, operon.MigrateStorage())
	s.Eventually("the definition to be read", func(context.Context) error {
		if !slices.Contains(requests.All(false), "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/boxes."+s.group) {
			return fmt.Errorf("requests %q", requests.All(false))
		}
		return nil
	})
	if got := slices.DeleteFunc(requests.All(true), func(request string) bool { return strings.HasSuffix(request, "/status") }); len(got) > 0 {
		t.Errorf("with nothing to migrate, written is %q", got)
	}
}

// A missing permission is reported with its rule, no useless write is sent, and the operator continues to work.
func TestAMigrationThatIsNotAllowedIsTold(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.fill("a")
	s.define("v1", nil, "v1beta1", "v1")
	s.allow(rbacv1.PolicyRule{APIGroups: []string{s.group, "events.k8s.io", "coordination.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{"boxes." + s.group}, Verbs: []string{"get"}})
	limited := rest.CopyConfig(s.Config)
	limited.Impersonate.UserName = s.Namespace
	log := &boxtest.Lines{}
	requests, _ := s.operate(s.Namespace, limited, slog.New(slog.NewTextHandler(log, nil)), operon.MigrateStorage())
	s.Eventually("the rule", log.Has(`resources: [customresourcedefinitions/status], resourceNames: [boxes.`+s.group+`], verbs: [update]`))
	s.Eventually("the operator to work", func(ctx context.Context) error {
		b := s.box("v1", "a")
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Object["status"] == nil {
			return errors.New("no status yet")
		}
		return nil
	})
	if got := rewrites(requests); len(got) > 0 {
		t.Errorf("written is %q", got)
	}
	s.Must(s.stored("v1beta1", "v1")(t.Context()))
}

// allow grants the rules in all namespaces to the user with the name of the namespace.
func (s *shelf) allow(rules ...rbacv1.PolicyRule) {
	s.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.Namespace},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.Namespace}},
	}
	for _, object := range []client.Object{role, binding} {
		s.Must(s.Client.Create(s.Context(), object))
		s.Cleanup(func() { s.Must(s.Client.Delete(s.Afterwards().Context(), object)) })
	}
}

// An operator without the option to migrate reads no CRD.
func TestStorageIsMigratedOnlyWhereAskedFor(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.fill("a")
	s.define("v1", nil, "v1beta1", "v1")
	requests, _ := s.operate(s.Namespace, s.Config, nil)
	s.Eventually("the operator to work", func(ctx context.Context) error {
		b := s.box("v1", "a")
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(b), b)
		if err == nil && b.Object["status"] == nil {
			err = errors.New("no status yet")
		}
		return err
	})
	for _, request := range requests.All(false) {
		if strings.Contains(request, "customresourcedefinitions") {
			t.Errorf("requests are %q", requests.All(false))
		}
	}
}
