package watches_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

var (
	configKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	widgetKind = schema.GroupVersionKind{Group: "test.operon.dev", Version: "v1", Kind: "Widget"}
)

// server lists and watches objects in memory, with the protocol of an API server.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	version int
	objects map[string]*unstructured.Unstructured
	changes []change
	grown   chan struct{}
	// refused is the status code of responses for a resource; 0 means that it is served.
	refused map[string]int
	// refusedAll is the same for requests without a name or labels.
	refusedAll map[string]int
	// refusedOnce is the same for the next request of a verb.
	refusedOnce map[string]int
	// refusedVerbs is the same for all requests of a verb: "list" or "watch".
	refusedVerbs map[string]int
}

// change is one write.
type change struct {
	resource      string
	version       int
	before, after *unstructured.Unstructured
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{version: 10, objects: map[string]*unstructured.Unstructured{}, grown: make(chan struct{}), refused: map[string]int{}, refusedAll: map[string]int{}, refusedOnce: map[string]int{}, refusedVerbs: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// wire returns a connection to the server. Besides built-in kinds, it knows the given ones.
func (s *server) wire(t *testing.T, more ...schema.GroupVersionKind) *resourceclient.Wire {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range append(more, configKind) {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	w, err := resourceclient.New(resourceclient.Config{REST: &rest.Config{Host: s.URL, QPS: -1}, HTTP: s.Client(), Mapper: mapper, Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// put stores a ConfigMap and returns its version.
func (s *server) put(namespace, name string, set map[string]string) string {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(configKind)
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetUID(types.UID("uid of " + name))
	object.SetLabels(set)
	return s.change("configmaps", namespace+"/"+name, object)
}

func (s *server) remove(namespace, name string) { s.change("configmaps", namespace+"/"+name, nil) }

func (s *server) change(resource, key string, after *unstructured.Unstructured) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	version, before := strconv.Itoa(s.version), s.objects[resource+"/"+key]
	delete(s.objects, resource+"/"+key)
	if after != nil {
		after.SetResourceVersion(version)
		s.objects[resource+"/"+key] = after
	}
	s.changes = append(s.changes, change{resource, s.version, before, after})
	close(s.grown)
	s.grown = make(chan struct{})
	return version
}

// refuse makes the server answer with a status code from now on, and closes the open watches.
func (s *server) refuse(resource string, status int) {
	s.mu.Lock()
	s.refused[resource] = status
	s.mu.Unlock()
	s.CloseClientConnections()
}

// refuseAll is refuse for requests that select all objects.
func (s *server) refuseAll(resource string, status int) {
	s.mu.Lock()
	s.refusedAll[resource] = status
	s.mu.Unlock()
	s.CloseClientConnections()
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	resource, namespace := parts[len(parts)-1], ""
	if i := slices.Index(parts, "namespaces"); i >= 0 && i+2 < len(parts) {
		namespace = parts[i+1]
	}
	query, verb := r.URL.Query(), "list"
	if query.Get("watch") != "" {
		verb = "watch"
	}
	s.mu.Lock()
	refused := max(s.refused[resource], s.refusedVerbs[verb], s.refusedOnce[verb])
	delete(s.refusedOnce, verb)
	if query.Get("labelSelector") == "" && query.Get("fieldSelector") == "" {
		refused = max(refused, s.refusedAll[resource])
	}
	s.mu.Unlock()
	if refused == 0 && query.Get("sendInitialEvents") != "" {
		refused = http.StatusUnprocessableEntity // an API server without streaming lists
	}
	w.Header().Set("Content-Type", "application/json")
	if refused != 0 {
		w.WriteHeader(refused)
		reasons := map[int]string{403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 422: "Invalid", 500: "InternalError"}
		answer(w, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reasons[refused], "code": refused})
		return
	}
	set, _ := labels.Parse(query.Get("labelSelector"))
	field, _ := fields.ParseSelector(query.Get("fieldSelector"))
	selects := func(o *unstructured.Unstructured) bool {
		return o != nil && (namespace == "" || namespace == o.GetNamespace()) && set.Matches(labels.Set(o.GetLabels())) &&
			field.Matches(fields.Set{"metadata.name": o.GetName()})
	}
	form := func(o *unstructured.Unstructured) any {
		if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
			return o.Object
		}
		return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o.Object["metadata"]}
	}
	if verb == "list" {
		s.list(w, r, resource, selects, form)
		return
	}
	s.watch(w, r, resource, selects, form)
}

func (s *server) list(w http.ResponseWriter, r *http.Request, resource string, selects func(*unstructured.Unstructured) bool, form func(*unstructured.Unstructured) any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for key, object := range s.objects {
		if strings.HasPrefix(key, resource+"/") && selects(object) {
			items = append(items, form(object))
		}
	}
	kind, version := map[string]string{"configmaps": "ConfigMapList", "widgets": "WidgetList"}[resource], "v1"
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	answer(w, map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items})
}

func (s *server) watch(w http.ResponseWriter, r *http.Request, resource string, selects func(*unstructured.Unstructured) bool, form func(*unstructured.Unstructured) any) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.WriteHeader(http.StatusOK)
	for next := 0; ; {
		s.mu.Lock()
		changes, grown := s.changes[next:], s.grown
		next = len(s.changes)
		s.mu.Unlock()
		for _, c := range changes {
			was, is := selects(c.before), selects(c.after)
			if c.resource != resource || c.version <= from || !was && !is {
				continue
			}
			kind, object := "MODIFIED", c.after
			switch {
			case !is:
				kind, object = "DELETED", c.before.DeepCopy()
				object.SetResourceVersion(strconv.Itoa(c.version))
			case !was:
				kind = "ADDED"
			}
			answer(w, map[string]any{"type": kind, "object": form(object)})
		}
		w.(http.Flusher).Flush()
		select {
		case <-grown:
		case <-r.Context().Done():
			return
		}
	}
}

func answer(w http.ResponseWriter, o any) {
	// A client that disconnected reads no error either.
	_ = json.NewEncoder(w).Encode(o)
}
