package recorder

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	reviewclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
)

// sink sends events. It implements client-go's EventSink.
type sink struct {
	// Typed clients need no discovery.
	events  eventsclient.EventsV1Interface
	core    coreclient.CoreV1Interface
	reviews reviewclient.AuthorizationV1Interface
	log     logr.Logger

	mu     sync.Mutex
	chosen map[string]choice // by namespace
}

// choice is the API for the events of a namespace.
type choice struct {
	api api
	// until is when the choice is made again, if neither API may be used.
	until time.Time
}

type api int

const (
	none api = iota
	current
	core
)

func newSink(cluster *rest.Config, with *http.Client, log logr.Logger) (*sink, error) {
	s := &sink{log: log, chosen: map[string]choice{}}
	var errs [3]error
	s.events, errs[0] = eventsclient.NewForConfigAndClient(cluster, with)
	s.core, errs[1] = coreclient.NewForConfigAndClient(cluster, with)
	s.reviews, errs[2] = reviewclient.NewForConfigAndClient(cluster, with)
	return s, errors.Join(errs[:]...)
}

// Create implements EventSink.
func (s *sink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	switch s.choose(ctx, event.Namespace) {
	case current:
		return s.events.Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	case core:
		_, err := s.core.Events(event.Namespace).Create(ctx, convert(event), metav1.CreateOptions{})
		return event, err
	}
	return event, nil
}

// Update implements EventSink. The broadcaster of client-go patches events instead.
func (s *sink) Update(context.Context, *eventsv1.Event) (*eventsv1.Event, error) {
	return nil, errors.New("events are patched, not updated")
}

// Patch implements EventSink. The broadcaster only patches the series of an event, which is the same in both APIs.
func (s *sink) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	const how = types.StrategicMergePatchType
	switch s.choose(ctx, event.Namespace) {
	case current:
		return s.events.Events(event.Namespace).Patch(ctx, event.Name, how, data, metav1.PatchOptions{})
	case core:
		_, err := s.core.Events(event.Namespace).Patch(ctx, event.Name, how, data, metav1.PatchOptions{})
		return event, err
	}
	return event, nil
}

// choose returns the API for the events of a namespace: one that may be used in all namespaces, or in this one. Asking first prevents
// requests that are denied.
func (s *sink) choose(ctx context.Context, namespace string) api {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, where := range []string{metav1.NamespaceAll, namespace} {
		if api := s.chooseIn(ctx, where); api != none {
			return api
		}
	}
	return none
}

// chooseIn returns the API for the events of a namespace, or of all namespaces. It asks once. If the question fails, it returns the
// current API, and asks again at the next event.
func (s *sink) chooseIn(ctx context.Context, namespace string) api {
	if made, ok := s.chosen[namespace]; ok && (made.api != none || time.Now().Before(made.until)) {
		return made.api
	}
	for _, one := range []api{current, core} {
		may, err := s.may(ctx, namespace, one)
		if err != nil && !apierrors.IsForbidden(err) {
			return current
		}
		if may || err != nil { // who may not ask, tries
			s.chosen[namespace] = choice{api: one}
			return one
		}
	}
	s.chosen[namespace] = choice{until: time.Now().Add(askAgain)}
	if namespace != metav1.NamespaceAll {
		s.log.Info("events are not recorded: the operator needs the verbs create and patch for events in the API group events.k8s.io or the core group",
			"namespace", namespace)
	}
	return none
}

// may asks the API server whether the operator may create events with an API in a namespace.
func (s *sink) may(ctx context.Context, namespace string, with api) (bool, error) {
	what := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Version: "v1", Resource: "events"}
	if with == current {
		what.Group = eventsv1.GroupName
	}
	review, err := s.reviews.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: what},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask for the permission to create events: %w", err)
	}
	return review.Status.Allowed, nil
}

// convert returns an event in the form of the core API.
func convert(event *eventsv1.Event) *corev1.Event {
	converted := &corev1.Event{
		ObjectMeta:          event.ObjectMeta,
		InvolvedObject:      event.Regarding,
		Related:             event.Related,
		Type:                event.Type,
		Reason:              event.Reason,
		Action:              event.Action,
		Message:             event.Note,
		EventTime:           event.EventTime,
		ReportingController: event.ReportingController,
		ReportingInstance:   event.ReportingInstance,
	}
	if event.Series != nil {
		converted.Series = &corev1.EventSeries{Count: event.Series.Count, LastObservedTime: event.Series.LastObservedTime}
	}
	return converted
}
