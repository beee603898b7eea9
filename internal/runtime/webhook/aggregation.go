package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// apiServiceKind is the kind of the objects by which API servers forward requests for a version of a
// group. Its Go types are in a module that is not needed otherwise.
var apiServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}

// Priorities of a group among others, and of a version among the versions of its group, as the
// documentation of APIService recommends for platforms. Versions of the same priority are ordered as
// Kubernetes orders versions.
const (
	groupPriority   = 2000
	versionPriority = 15
)

// ErrNoService reports that API servers cannot forward requests to the operator.
var ErrNoService = errors.New("webhooks: an API server of an operator is reached by a Service, wherever it runs: name it with --webhook-service")

// Aggregate makes API servers forward requests for a version of a group. It must be called before Start. The handler of
// these requests has to be registered at the path /apis/ of Manager.
func (s *Server) Aggregate(version schema.GroupVersion) error {
	if s.Service.Name == "" {
		return ErrNoService
	}
	s.aggregated = append(s.aggregated, version)
	return nil
}

// Drains returns a channel that is closed when the server waits for the end of requests in flight: watches have to end then.
func (m managed) Drains() <-chan struct{} { return m.real.drains }

// Ended returns a channel that is closed when the server no longer answers, after it was stopped.
func (m managed) Ended() <-chan struct{} { return m.real.ended }

// Aggregate calls the server's Aggregate.
func (m managed) Aggregate(version schema.GroupVersion) error { return m.real.Aggregate(version) }

// apiService is the registration of a version of a group.
type apiService struct {
	version schema.GroupVersion
	owner   string // the operator
	place   place
}

func (a *apiService) id() ident {
	return ident{kind: apiServiceKind, name: a.version.Version + "." + a.version.Group}
}

// recordVersions stores which versions are served, before they are registered with API servers. Their names have the
// form of the kinds in the record.
func (k *keeper) recordVersions(ctx context.Context) error {
	var names []schema.GroupKind
	for _, version := range k.aggregated {
		names = append(names, schema.GroupKind{Group: version.Group, Kind: version.Version})
	}
	if len(names) == 0 {
		return nil
	}
	return k.Record.Add(ctx, apiServiceKind.GroupKind(), names)
}

// removeVersions removes the APIServices of versions that an earlier version of the operator served and this
// one does not, because no server would answer.
func (k *keeper) removeVersions(ctx context.Context) error {
	ever, err := k.Record.Kinds(ctx, apiServiceKind.GroupKind())
	if err != nil {
		return err
	}
	var gone []registration
	for _, name := range ever {
		if version := (schema.GroupVersion{Group: name.Group, Version: name.Kind}); !slices.Contains(k.aggregated, version) {
			gone = append(gone, &apiService{version: version})
		}
	}
	return k.retire(ctx, gone)
}

// liveAPIService holds the fields of an APIService that are read.
type liveAPIService struct {
	Spec struct {
		Group                string `json:"group"`
		Version              string `json:"version"`
		GroupPriorityMinimum int64  `json:"groupPriorityMinimum"`
		VersionPriority      int64  `json:"versionPriority"`
		CABundle             []byte `json:"caBundle"`
		Service              *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			Port      int32  `json:"port"`
		} `json:"service"`
	} `json:"spec"`
}

// asked implements registration.
func (a *apiService) asked(live *unstructured.Unstructured) []asked {
	var typed liveAPIService
	if typedFrom(live, &typed) != nil {
		return nil
	}
	to := asked{bundle: typed.Spec.CABundle}
	if s := typed.Spec.Service; s != nil {
		to.service = types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	}
	return []asked{to}
}

// wanted implements registration. A process that is not the leader adds to the existing bundle.
func (a *apiService) wanted(live *unstructured.Unstructured, bundle bundler, leads bool) (*unstructured.Unstructured, error) {
	if live == nil {
		if !leads {
			return nil, nil
		}
		return a.object(bundle(nil)), nil
	}
	var typed liveAPIService
	if err := typedFrom(live, &typed); err != nil {
		return nil, err
	}
	want := bundle(typed.Spec.CABundle)
	if a.same(typed) && bytes.Equal(typed.Spec.CABundle, want) && live.GetLabels()[labelManagedBy] == a.owner {
		return nil, nil
	}
	return a.object(want), nil
}

// same reports whether an APIService points to the operator.
func (a *apiService) same(live liveAPIService) bool {
	to := live.Spec.Service
	return to != nil && to.Namespace == a.place.service.Namespace && to.Name == a.place.service.Name && cmp.Or(to.Port, defaultServicePort) == a.place.port &&
		live.Spec.GroupPriorityMinimum == groupPriority && live.Spec.VersionPriority == versionPriority
}

func (a *apiService) object(bundle []byte) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": a.version.Group, "version": a.version.Version,
		"groupPriorityMinimum": int64(groupPriority), "versionPriority": int64(versionPriority),
		"caBundle": base64.StdEncoding.EncodeToString(bundle),
		"service": map[string]any{
			"namespace": a.place.service.Namespace, "name": a.place.service.Name, "port": int64(a.place.port),
		},
	}}}
	object.SetGroupVersionKind(apiServiceKind)
	object.SetName(a.id().name)
	object.SetLabels(map[string]string{labelManagedBy: a.owner})
	return object
}
