package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/operon-framework/operon/engine"
)

// Session records the requests of a run.
type Session struct {
	Owner Owner
	// Ignored contains the kinds that are not recorded.
	Ignored []schema.GroupVersionKind

	proxy *Proxy
	token string

	mu sync.Mutex
	// withStatus means that the current task may use the status of what it reads.
	withStatus bool
	objects    map[objectKey]*seen
	// open is the reason why the record is not complete.
	open string
	// beyond contains the objects that the run created where garbage collection does not reach them.
	beyond []string
}

// objectKey identifies an object, or a list if it has no name.
type objectKey struct {
	kind                      schema.GroupVersionKind
	namespace, name, selector string
}

// seen is the last known state of an object or list.
type seen struct {
	// withStatus means that a task may have used the status.
	withStatus bool
	// object is nil if the object does not exist.
	object *metav1.PartialObjectMetadata
	// list is the version of a list.
	list string
	// unknown means that the state after a write was not in the response.
	unknown bool
}

// access is a request for an object or a list.
type access struct {
	session *Session
	key     objectKey
	verb    string
	// whole means that the response has the whole object.
	whole      bool
	withStatus bool
}

// Begin says whether the following requests come from a task that may use the status of what it reads.
func (s *Session) Begin(withStatus bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withStatus = withStatus
}

// opens records why the result of the run may depend on more than its record. The first reason is kept.
func (s *Session) opens(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = first(s.open, why)
}

// unrecorded contains the resources that hold no state that a run could depend on.
var unrecorded = []schema.GroupResource{
	{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, {Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}, {Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"}, {Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
}

// streams are the subresources that are not stored, so that what they answer cannot be watched.
var streams = []string{"log", "exec", "attach", "portforward", "proxy"}

// access returns what a request reads or writes, or nil if that is not recorded.
func (s *Session) access(r *http.Request, info *request.RequestInfo) *access {
	if !info.IsResourceRequest || slices.Contains(unrecorded, schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}) {
		return nil
	}
	kind, namespaced, err := s.kindOf(info)
	if err != nil { // not served: the API server answers with an error
		s.opens(fmt.Sprintf("a request for %s, which is not served", info.Path))
		return nil
	}
	if slices.Contains(s.Ignored, kind) || kind == s.Owner.Kind && info.Namespace == s.Owner.Namespace && info.Name == s.Owner.Name {
		return nil
	}
	s.mu.Lock()
	a := &access{session: s, verb: info.Verb, withStatus: s.withStatus, whole: info.Subresource == ""}
	s.mu.Unlock()
	a.key = objectKey{kind: kind, namespace: info.Namespace, name: info.Name}
	if why := a.describe(r.URL.Query(), info, namespaced); why != "" {
		s.opens(why)
		return nil
	}
	return a
}

// describe sets the selector of a list. It returns the reason if a request cannot be recorded.
func (a *access) describe(query url.Values, info *request.RequestInfo, namespaced bool) string {
	fields := query.Get("fieldSelector")
	switch {
	case slices.Contains(streams, info.Subresource):
		return fmt.Sprintf("a request for the subresource %s of %s %s", info.Subresource, a.key.kind.Kind, info.Name)
	case info.Verb == "watch":
		return "a watch of " + info.Resource
	case info.Verb == "list" && info.Name != "" && fields == "metadata.name="+info.Name:
		a.verb = "list one"
	case fields != "":
		return "a list by the field selector " + fields
	case info.Verb == "list" || info.Verb == "deletecollection":
		a.key.name, a.key.selector, a.withStatus = "", query.Get("labelSelector"), true
		if namespaced && info.Namespace == "" && a.key.selector == "" {
			return fmt.Sprintf("a list of the %s of all namespaces", info.Resource)
		}
	}
	return ""
}

// kindOf returns the kind of a resource.
func (s *Session) kindOf(info *request.RequestInfo) (kind schema.GroupVersionKind, namespaced bool, err error) {
	kind, err = s.proxy.mapper.KindFor(schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource})
	if err != nil {
		return kind, false, err
	}
	mapping, err := s.proxy.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return kind, false, err
	}
	return kind, mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// observe records a response. The response can still be read.
func (a *access) observe(response *http.Response) error {
	found := response.StatusCode < 300
	if !found && response.StatusCode != http.StatusNotFound {
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		a.session.opens("a response in the format " + response.Header.Get("Content-Type"))
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return a.record(body, found)
}

// record records the body of a response.
func (a *access) record(body []byte, found bool) error {
	s := a.session
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !found && (a.verb == "get" || a.verb == "delete"):
		s.note(a, nil)
	case !found:
	case a.verb == "list", a.verb == "list one", a.verb == "deletecollection":
		return s.noteList(a, body)
	case a.verb == "delete":
		s.note(a, nil)
	case !a.whole:
		s.entry(a).unknown = true
	default:
		object := &metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(body, object); err != nil {
			return err
		}
		created := a.key.name == ""
		a.key.name, a.key.namespace = object.Name, object.Namespace
		s.note(a, object)
		if created && !s.Owner.reaches(object.Namespace) {
			s.beyond = append(s.beyond, fmt.Sprintf("%s %s", a.key.kind.Kind, encodedOwner(object.Namespace, object.Name)))
		}
	}
	return nil
}

func (s *Session) entry(a *access) *seen {
	e := s.objects[a.key]
	if e == nil {
		e = &seen{}
		s.objects[a.key] = e
	}
	return e
}

// note records the state of an object. A read by a task that only changes the object does not replace the state that an earlier
// task used.
func (s *Session) note(a *access, object *metav1.PartialObjectMetadata) {
	e := s.entry(a)
	if a.verb == "get" && e.withStatus && !a.withStatus {
		return
	}
	e.withStatus = e.withStatus || a.withStatus && a.verb == "get"
	e.object, e.unknown = object, false
}

func (s *Session) noteList(a *access, body []byte) error {
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	if a.verb == "list one" {
		a.verb = "get"
		if len(list.Items) == 0 {
			s.note(a, nil)
			return nil
		}
		s.note(a, &list.Items[0])
		return nil
	}
	if list.Continue != "" {
		s.open = first(s.open, "a list in several parts")
		return nil
	}
	s.entry(a).list = ListVersion(list.Items)
	return nil
}

// Result returns the record of the run, ordered, and the reason why it is not complete.
func (s *Session) Result(ctx context.Context) (objects []engine.RunObject, open string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.objects {
		o := engine.RunObject{
			APIVersion: key.kind.GroupVersion().String(), Kind: key.kind.Kind, Namespace: key.namespace, Name: key.name,
			Selector: key.selector, WithStatus: e.withStatus, Version: e.list, Owned: e.object != nil && s.Owner.owns(e.object),
		}
		if key.name != "" {
			o.Version = Version(e.object, e.withStatus)
		}
		if e.unknown {
			if o.Version, err = s.proxy.Live(ctx, o); err != nil {
				return nil, "", err
			}
		}
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b engine.RunObject) int { return strings.Compare(Place(a), Place(b)) })
	return objects, s.open, nil
}

// Place returns a text that identifies an object or list, for people.
func Place(o engine.RunObject) string {
	switch {
	case o.Name != "":
		return o.Kind + " " + encodedOwner(o.Namespace, o.Name)
	case o.Selector != "":
		return fmt.Sprintf("list of %s in %q with %s", o.Kind, o.Namespace, o.Selector)
	}
	return fmt.Sprintf("list of %s in %q", o.Kind, o.Namespace)
}

// controllerAnnotations are annotations that controllers of Kubernetes write, as they write the status.
const controllerAnnotations = "deployment.kubernetes.io/"

// Version identifies the content of an object. Without the status, it changes only with the rest, as far as the metadata
// shows: kinds without a generation have no status, with few exceptions. An object that is being deleted counts as absent.
func Version(object *metav1.PartialObjectMetadata, withStatus bool) string {
	switch {
	case object == nil || object.DeletionTimestamp != nil:
		return ""
	case withStatus || object.Generation == 0:
		return string(object.UID) + "/" + object.ResourceVersion
	}
	annotations := map[string]string{}
	for key, value := range object.Annotations {
		if !strings.HasPrefix(key, controllerAnnotations) {
			annotations[key] = value
		}
	}
	content, err := json.Marshal([]any{object.Labels, annotations, object.OwnerReferences, object.Finalizers})
	if err != nil {
		panic(err) // strings can be encoded
	}
	sum := sha256.Sum256(content)
	return fmt.Sprintf("%s/%d/%s", object.UID, object.Generation, hex.EncodeToString(sum[:6]))
}

// ListVersion identifies the content of a list.
func ListVersion(items []metav1.PartialObjectMetadata) string {
	var lines []string
	for i := range items {
		lines = append(lines, items[i].Namespace+"/"+items[i].Name+"/"+Version(&items[i], true))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return fmt.Sprintf("%d/%s", len(items), hex.EncodeToString(sum[:12]))
}

// Live reads the current version of an object or list from the API server.
func (p *Proxy) Live(ctx context.Context, o engine.RunObject) (string, error) {
	path, err := p.path(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), o.Namespace, o.Name)
	if meta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if o.Name == "" {
		query := url.Values{}
		if o.Selector != "" {
			query.Set("labelSelector", o.Selector)
		}
		list := &metav1.PartialObjectMetadataList{}
		err := p.read(ctx, path, query, "PartialObjectMetadataList", list)
		return ListVersion(list.Items), err
	}
	object, err := p.metadata(ctx, path, nil)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return Version(object, o.WithStatus), err
}

// Beyond returns the objects that the run created where garbage collection does not reach them.
func (s *Session) Beyond() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.beyond)
	return slices.Compact(s.beyond)
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
