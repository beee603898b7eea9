package apply_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	configKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	owner      = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner", UID: "o"}}
)

// api stores one ConfigMap in memory like an API server. It is also the endpoint of its kind.
type api struct {
	resourceclient.Endpoint
	object  *unstructured.Unstructured
	version int
	// refuse is the response to the next write.
	refuse error
	// invalid means that the API server rejects an update, although it would accept the creation of such an object.
	invalid bool
}

func (s *api) Children(resourceclient.Children) (resourceclient.Endpoint, error) { return s, nil }

func (s *api) refusal(version string) error {
	if err := s.refuse; err != nil {
		s.refuse = nil
		return err
	}
	if version != "" && s.object != nil && version != s.object.GetResourceVersion() {
		return apierrors.NewConflict(configMaps, "web", errors.New("it has changed"))
	}
	return nil
}

func (s *api) Apply(_ context.Context, _, _ string, body []byte, o metav1.PatchOptions) (runtime.Object, error) {
	applied := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &applied.Object); err != nil {
		return nil, err
	}
	if err := s.refusal(applied.GetResourceVersion()); err != nil {
		return nil, err
	}
	switch uid := applied.GetUID(); {
	case uid != "" && s.object == nil:
		return nil, apierrors.NewConflict(configMaps, "web", errors.New("it does not exist"))
	case uid != "" && uid != s.object.GetUID():
		return nil, apierrors.NewInvalid(configKind.GroupKind(), "web", field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	if s.invalid && s.object != nil {
		return nil, apierrors.NewInvalid(configKind.GroupKind(), "web", nil)
	}
	s.put(applied)
	return s.object.DeepCopy(), nil
}

// put stores an object.
func (s *api) put(object *unstructured.Unstructured) {
	s.version++
	uid := types.UID("u" + strconv.Itoa(s.version))
	if s.object != nil {
		uid = s.object.GetUID()
	}
	s.object = object.DeepCopy()
	s.object.SetUID(uid)
	s.object.SetResourceVersion(strconv.Itoa(s.version))
}

func (s *api) Get(context.Context, string, string) (runtime.Object, error) {
	if err := s.refusal(""); err != nil {
		return nil, err
	}
	if s.object == nil {
		return nil, apierrors.NewNotFound(configMaps, "web")
	}
	return s.object.DeepCopy(), nil
}

func (s *api) delete(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.DeleteOption) error {
	var all client.DeleteOptions
	all.ApplyOptions(options)
	version := ""
	if v := all.Preconditions.ResourceVersion; v != nil {
		version = *v
	}
	if err := s.refusal(version); err != nil {
		return err
	}
	if s.object == nil {
		return apierrors.NewNotFound(configMaps, "web")
	}
	s.version++
	s.object = nil
	return nil
}

func (s *api) patch(_ context.Context, _ client.WithWatch, answer client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if err := s.refusal(""); err != nil {
		return err
	}
	s.object.SetLabels(nil)
	s.put(s.object)
	answer.SetResourceVersion(s.object.GetResourceVersion())
	return nil
}

func (s *api) create(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
	return apierrors.NewAlreadyExists(configMaps, "web")
}

// bench is an applier over an API in memory.
type bench struct {
	*testing.T
	*apply.Applier
	api    *api
	writes *freshness.Children
}

func newBench(t *testing.T, fenced bool) *bench {
	t.Helper()
	b := &bench{T: t, api: &api{version: 10}, writes: freshness.NewChildren()}
	// The watch shows nothing, so that all writes stay in the ledger.
	freshness.WatchChildren(b.writes, toolscache.NewStore(toolscache.MetaNamespaceKeyFunc), func(*plan.Live) bool { return true }, func(*plan.Live) {})
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"ConfigMap", "Secret"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	memory := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithRESTMapper(mapper).Build()
	b.Applier = apply.New(apply.Config{
		Client: interceptor.NewClient(memory, interceptor.Funcs{Delete: b.api.delete, Patch: b.api.patch, Create: b.api.create}), Endpoints: b.api,
		Manager: "test", Writes: b.writes, Fenced: fenced,
		Children: func(kind schema.GroupVersionKind) resourceclient.Children { return resourceclient.Children{Kind: kind} },
	})
	return b
}

// desired returns a child with data a=value.
func (b *bench) desired(value string, options plan.Options) *unstructured.Unstructured {
	b.Helper()
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"a": value}}
	prepared, err := b.Prepare(owner, configKind, child, options)
	if err != nil {
		b.Fatal(err)
	}
	return prepared
}

// do executes an action and checks its result, and the version of the child afterwards: empty if there is none.
func (b *bench) do(action plan.Action, want plan.Verb, version string) plan.Action {
	b.Helper()
	done, err := b.Do(b.Context(), action)
	if err != nil || done.Verb != want {
		b.Fatalf("%s became %s: %v, want %s", action.Verb, done.Verb, err, want)
	}
	b.reads(version)
	return done
}

func (b *bench) reads(version string) {
	b.Helper()
	view := b.writes.View()
	defer view.End()
	got := view.Newest(plan.ID{GroupKind: configKind.GroupKind(), Namespace: "default", Name: "web"}, nil)
	if got == nil && version != "" || got != nil && got.ResourceVersion != version {
		b.Errorf("%v is read, want version %q", got, version)
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	for _, fenced := range []bool{false, true} {
		b := newBench(t, fenced)
		first := b.do(plan.Action{Verb: plan.Create, Desired: b.desired("1", plan.Options{})}, plan.Create, "11")
		second := b.do(plan.Action{Verb: plan.Update, Desired: b.desired("2", plan.Options{}), Live: first.Live}, plan.Update, "12")
		b.do(plan.Action{Verb: plan.Keep, Live: second.Live}, plan.Keep, "12")
		b.do(plan.Action{Verb: plan.Release, Live: second.Live}, plan.Release, "")
		if labels := b.api.object.GetLabels(); len(labels) > 0 {
			t.Errorf("a released child has the labels %v", labels)
		}
		live, err := b.Read(t.Context(), second.Live)
		if err != nil || live.ResourceVersion != "13" {
			t.Errorf("past all caches, %v is read: %v", live, err)
		}
		b.do(plan.Action{Verb: plan.Delete, Live: live}, plan.Delete, "")
		b.do(plan.Action{Verb: plan.Delete, Live: live}, plan.Delete, "")
		if b.api.object != nil {
			t.Error("the child was not deleted")
		}
	}
}

// If the name of a child to create is taken, the action that the existing child needs is executed.
func TestACreationOfWhatExists(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	desired := b.desired("1", plan.Options{})
	b.api.put(desired)
	b.do(plan.Action{Verb: plan.Create, Desired: desired}, plan.Repair, "12")
	b.api.object.SetLabels(map[string]string{plan.OwnerLabel: "another"})
	_, err := b.Do(t.Context(), plan.Action{Verb: plan.Create, Desired: desired})
	if _, conflict := errors.AsType[*apply.ConflictError](err); !conflict || err.Error() == "" {
		t.Errorf("over an object of another owner: %v, want a conflict", err)
	}
	_, err = b.Do(t.Context(), plan.Action{Verb: plan.Conflict, Desired: desired, Why: "is not ours"})
	if _, conflict := errors.AsType[*apply.ConflictError](err); !conflict {
		t.Errorf("a conflict: %v", err)
	}
}

func TestWritesThatFail(t *testing.T) {
	t.Parallel()
	down := apierrors.NewServiceUnavailable("try again later")
	for _, verb := range []plan.Verb{plan.Create, plan.Update, plan.Delete, plan.Release} {
		b := newBench(t, false)
		b.api.put(b.desired("1", plan.Options{}))
		live, err := b.Read(t.Context(), &plan.Live{Kind: configKind, Namespace: "default", Name: "web"})
		if err != nil {
			t.Fatal(err)
		}
		b.api.refuse = down
		if _, err := b.Do(t.Context(), plan.Action{Verb: verb, Desired: b.desired("2", plan.Options{}), Live: live}); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("%s: %v", verb, err)
		}
		if b.writes.Kept() > 0 {
			t.Errorf("%s: a write that failed is held", verb)
		}
	}
}

// If the owner may belong to another process, a write that another write preceded is planned again for the existing state.
func TestFencedWritesThatAreOvertaken(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	first := b.do(plan.Action{Verb: plan.Create, Desired: b.desired("1", plan.Options{})}, plan.Create, "11")
	b.api.put(b.api.object) // by another writer
	b.do(plan.Action{Verb: plan.Update, Desired: b.desired("2", plan.Options{}), Live: first.Live}, plan.Update, "13")
	b.do(plan.Action{Verb: plan.Delete, Live: first.Live}, plan.Delete, "")
	if b.api.object != nil {
		t.Error("the newest state was not deleted")
	}
	b.api.refuse = apierrors.NewConflict(configMaps, "web", errors.New("it is gone"))
	b.do(plan.Action{Verb: plan.Update, Desired: b.desired("3", plan.Options{}), Live: first.Live}, plan.Recreate, "15")
}

// A child that another client writes at the same time, such as garbage collection, is released all the same.
func TestAReleaseThatIsOvertaken(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	first := b.do(plan.Action{Verb: plan.Create, Desired: b.desired("1", plan.Options{})}, plan.Create, "11")
	b.api.refuse = apierrors.NewConflict(configMaps, "web", errors.New("it has changed"))
	b.do(plan.Action{Verb: plan.Release, Live: first.Live}, plan.Release, "")
	if labels := b.api.object.GetLabels(); len(labels) > 0 {
		t.Errorf("it has the labels %v", labels)
	}
}

// A child that was composed from an object is only written over the version that was read.
func TestVersionsOfChildren(t *testing.T) {
	t.Parallel()
	for _, fenced := range []bool{false, true} {
		b := newBench(t, fenced)
		adopt := plan.Options{Policy: plan.MayAdopt}
		read := func() *unstructured.Unstructured {
			child := b.desired("1", adopt)
			child.SetResourceVersion(b.api.object.GetResourceVersion())
			return child
		}
		b.api.put(&unstructured.Unstructured{Object: map[string]any{}})
		stale := read()
		b.api.put(b.api.object) // by another client
		for _, verb := range []plan.Verb{plan.Create, plan.Recreate, plan.Adopt} {
			_, err := b.Do(t.Context(), plan.Action{Verb: verb, Desired: stale, Live: b.live(), Options: adopt})
			if _, changed := errors.AsType[*apply.ChangedError](err); !changed || b.api.object.GetResourceVersion() != "12" {
				t.Errorf("%s of an older version: %v, it has version %s", verb, err, b.api.object.GetResourceVersion())
			}
		}
		b.do(plan.Action{Verb: plan.Create, Desired: read(), Options: adopt}, plan.Adopt, "13")
		b.api.object = nil
		_, err := b.Do(t.Context(), plan.Action{Verb: plan.Create, Desired: stale, Options: adopt})
		if _, changed := errors.AsType[*apply.ChangedError](err); !changed || b.api.object != nil {
			t.Errorf("an object that is gone: %v", err)
		}
	}
}

// live is the state of the child as a cache has it that is up to date.
func (b *bench) live() *plan.Live { return plan.LiveOf(configKind, b.api.object, "test") }

func TestFieldsThatCannotBeChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	first := b.do(plan.Action{Verb: plan.Create, Desired: b.desired("1", plan.Options{})}, plan.Create, "11")
	b.api.invalid = true
	update := plan.Action{Verb: plan.Update, Desired: b.desired("2", plan.Options{}), Live: first.Live}
	_, err := b.Do(t.Context(), update)
	if immutable, ok := errors.AsType[*apply.ImmutableError](err); !ok || !apierrors.IsInvalid(immutable.Unwrap()) || immutable.Error() == "" {
		t.Errorf("got %v, want that a field is immutable", err)
	}
	update.Options = plan.Options{Policy: plan.MayReplace}
	b.do(update, plan.Replace, "")
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": "v"}}
	prepared, err := b.Prepare(owner, configKind, secret, plan.Options{Policy: plan.LeaveBehind, After: []plan.ID{{Name: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	data, _, _ := unstructured.NestedString(prepared.Object, "data", "k")
	if data != "dg==" || prepared.GetNamespace() != "default" || prepared.GetLabels()[plan.OwnerLabel] != "o" || apply.Collected(owner, prepared) {
		t.Errorf("prepared %v", prepared.Object)
	}
	if !apply.Collected(owner, b.desired("1", plan.Options{})) {
		t.Error("a child in the owner's namespace has no reference to it")
	}
	if id, err := b.Identify(owner, secret); err != nil || id != plan.Of(prepared) {
		t.Errorf("identified as %v: %v", id, err)
	}
	named := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, configKind)}}}
	if prepared, err = b.Prepare(owner, configKind, named, plan.Options{}); err != nil || len(prepared.GetOwnerReferences()) != 1 {
		t.Errorf("a child with a reference to its owner has the references %v: %v", prepared.GetOwnerReferences(), err)
	}
	first, second := b.ofVersion("1"), b.ofVersion("2")
	if first.GetResourceVersion() != "1" || first.GetAnnotations()[plan.HashAnnotation] != second.GetAnnotations()[plan.HashAnnotation] {
		t.Errorf("with other versions, the prepared objects are %v and %v", first.Object, second.Object)
	}
	wide := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "wide", UID: "w"}}
	if _, err := b.Prepare(wide, configKind, secret, plan.Options{}); err == nil || err.Error() != "Secret s has no namespace, and its owner is cluster-scoped" {
		t.Errorf("a child without a namespace of a cluster-scoped owner: %v", err)
	}
	for name, child := range map[string]client.Object{
		"without a name": &corev1.ConfigMap{}, "without a kind": &unstructured.Unstructured{}, "of an unknown type": &metav1.PartialObjectMetadata{},
	} {
		_, err := b.Prepare(owner, configKind, child, plan.Options{})
		if _, invalid := errors.AsType[*apply.InvalidError](err); !invalid || err.Error() == "" {
			t.Errorf("%s: %v, want that it is not a valid child", name, err)
		}
	}
}

// ofVersion returns a child that was composed from a version of an object.
func (b *bench) ofVersion(version string) *unstructured.Unstructured {
	b.Helper()
	prepared, err := b.Prepare(owner, configKind, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: version}}, plan.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return prepared
}

func TestFamily(t *testing.T) {
	t.Parallel()
	var f apply.Family
	web := &plan.Live{Kind: configKind, Namespace: "default", Name: "web"}
	f.Saw(web)
	f.Saw(web)
	if !f.Knows(web.ID()) || len(f.Children()) != 1 || len(f.Kinds()) != 1 {
		t.Errorf("it knows %v of %v", f.Children(), f.Kinds())
	}
	if f.Unsee(web.ID()); f.Knows(web.ID()) {
		t.Error("a child that was removed on purpose is known")
	}
}
