package webhook

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/runtime/certificate"
	"github.com/operon-framework/operon/internal/runtime/migrate"
)

// API servers learn of a conversion some time after it was written. Objects that they return in the meantime are not
// converted, which matters if objects are stored in another version than the operator's.
func TestConversionSettles(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	service, address := place{}, place{address: "127.0.0.1:9443"}
	for name, test := range map[string]struct {
		definition definition
		stored     []any
		changed    time.Duration // before now
		want       time.Duration // from now on
	}{
		"nothing is to be converted":        {definition{reads: "v1", unconverted: true}, []any{"v1"}, 0, 0},
		"this process began to convert":     {definition{reads: "v1", unconverted: true, place: address}, []any{"v1beta1", "v1"}, 0, migrate.Settle},
		"it did so a moment ago":            {definition{reads: "v1", unconverted: true, seen: now.Add(-2 * time.Second)}, []any{"v1beta1"}, 0, migrate.Settle - 2*time.Second},
		"it started again":                  {definition{reads: "v1", place: address}, []any{"v1beta1", "v1"}, 0, 0},
		"another replica may have begun to": {definition{reads: "v1", place: service}, []any{"v1beta1", "v1"}, time.Second, migrate.Settle},
		"it did so long ago":                {definition{reads: "v1", place: service}, []any{"v1beta1", "v1"}, 2 * time.Hour, 0},
		"this one's clock may be ahead":     {definition{reads: "v1", place: service}, []any{"v1beta1"}, 2 * migrate.Settle, migrate.Settle},
		"its clock is ahead":                {definition{reads: "v1", place: service}, []any{"v1beta1"}, -time.Minute, migrate.Settle},
	} {
		live := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"storedVersions": test.stored}}}
		live.SetCreationTimestamp(metav1.NewTime(now.Add(-24 * time.Hour)))
		live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "other", Time: new(metav1.NewTime(now.Add(-test.changed)))}})
		if got := test.definition.settled(live, now).Sub(now); got != test.want {
			t.Errorf("%s: it is settled after %s, want %s", name, got, test.want)
		}
	}
}

// Of instances in several namespaces one converts, and another one takes over when its Service is gone. A Service in the
// instance's own namespace is one that it had before.
func oneConverter(r *replicas) {
	plural := "plots." + r.cfg.Namespaces[0] + ".example.com"
	r.define(plural)
	first, second := r.cfg.Service, types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: r.cfg.Service.Name}
	renamed := types.NamespacedName{Namespace: first.Namespace, Name: "renamed"}
	r.serve(first)
	r.serve(renamed)
	converts := func(from, want types.NamespacedName, writes bool) {
		r.Helper()
		k := r.converter(plural, from)
		_, wrote, err := k.turn(r.Context())
		for apierrors.IsConflict(err) && r.Context().Err() == nil { // the API server has just changed the status of the definition
			_, wrote, err = k.turn(r.Context())
		}
		if err != nil || wrote != writes || k.stood == writes {
			r.Errorf("%s: wrote %t, and stands by %t: want %t: %v", from, wrote, k.stood, writes, err)
		}
		live, err := k.registry.get(r.Context(), k.registry.all[0].id())
		if err != nil {
			r.Fatal(err)
		}
		if is := k.registry.all[0].asked(live)[0].service; is != want {
			r.Errorf("%s: %s converts, want %s", from, is, want)
		}
		if carried := k.registry.carried(map[ident]*unstructured.Unstructured{k.registry.all[0].id(): live}, certificate.ID(k.source.(fixed).ca)); !carried {
			r.Errorf("%s: it waits for the bundle of another instance", from)
		}
	}
	converts(first, first, true)
	converts(second, first, false)
	r.takesOver(plural, first, second)
	converts(first, first, true)
	converts(renamed, renamed, true)
	converts(first, first, true)
	if err := r.cfg.Client.Delete(r.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Name}}); err != nil {
		r.Fatal(err)
	}
	converts(second, second, true)
}

// takesOver checks that an instance converts instead of another one whose Service has not answered for long.
func (r *replicas) takesOver(plural string, from, to types.NamespacedName) {
	r.Helper()
	k := r.converter(plural, to)
	d := k.registry.all[0].(*definition)
	d.yielded, d.answered = from, time.Now().Add(-2*timing.silence)
	_, wrote, err := k.turn(r.Context())
	for apierrors.IsConflict(err) && r.Context().Err() == nil {
		_, wrote, err = k.turn(r.Context())
	}
	if err != nil || !wrote {
		r.Errorf("%s: wrote %t: want to convert in place of %s: %v", to, wrote, from, err)
	}
}

// converter creates the loop of an instance that converts the objects of a definition, behind a Service.
func (r *replicas) converter(plural string, service types.NamespacedName) *keeper {
	r.Helper()
	one := *r
	one.cfg.Service = service
	k := one.replica(newFixed(r.T), Options{})
	k.registry.all = []registration{&definition{name: plural, reads: "v1", place: k.place}}
	return k
}

// define creates a definition, which is deleted with the loops that convert its objects.
func (r *replicas) define(plural string) {
	r.Helper()
	group := plural[len("plots."):]
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "plots", "singular": "plot", "kind": "Plot", "listKind": "PlotList"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}}}
	object.SetGroupVersionKind(definitionKind)
	object.SetName(plural)
	if err := r.cfg.Client.Create(r.Context(), object); err != nil {
		r.Fatal(err)
	}
}

// serve creates a Service.
func (r *replicas) serve(service types.NamespacedName) {
	r.Helper()
	err := r.cfg.Client.Create(r.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})
	if err != nil {
		r.Fatal(err)
	}
}
