package tenants_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/testing/box"
)

// Fields of a Box that the operator of these tests reads.
const (
	// sizeField is the size of the database that the operator creates outside of the cluster.
	sizeField = "size"
	// mirrorField names a namespace in which the operator creates one more ConfigMap.
	mirrorField = "mirror"
	// badField makes the operator reject the Box.
	badField = "bad"
	// slowField makes the operator wait for a turn before it composes the Box.
	slowField = "slow"
)

// shop composes a ConfigMap, a Service after it, a Secret with the address of a database, and a Deployment without replicas. A
// Box may request a copy of the ConfigMap in another namespace.
type shop struct {
	system *databases
	turns  <-chan struct{}
}

func (s shop) ComposeExternal(_ context.Context, b *box.Box, out *operon.ExternalComposition) error {
	kind := operon.ExternalKind(out, "database", external.Provider[database, database](s.system), external.Poll(0))
	if size := b.Spec.Data[sizeField]; size != "" {
		kind.Declare("main", database{size: size})
	}
	return nil
}

func (s shop) Compose(ctx context.Context, b *box.Box, out *operon.Composition) error {
	if b.Spec.Data[slowField] != "" {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.turns:
		}
	}
	if why := b.Spec.Data[badField]; why != "" {
		return fmt.Errorf("the field is not valid: %s", why)
	}
	data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Data: b.Spec.Data}
	out.Child(data)
	labels := map[string]string{"app": operon.Name(63, b.Name)}
	out.Child(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: operon.Name(63, "s", b.Name)},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, operon.After(data))
	out.Child(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: operon.Name(63, b.Name)},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web"}}},
			},
		},
	})
	if mirror := b.Spec.Data[mirrorField]; mirror != "" {
		out.Child(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mirror, Name: b.Name}, Data: b.Spec.Data})
	}
	found, err := operon.External[database](out, "database")
	if err != nil {
		return err
	}
	for _, d := range found {
		if d.Exists {
			out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Data: d.Details})
		}
	}
	return nil
}

// Actions returns an export action, which records the exported Box.
func (s shop) Actions() operon.Actions[*box.Box] {
	return operon.Actions[*box.Box]{"export": func(_ context.Context, b *box.Box, act *operon.ActionContext) error {
		s.system.do(func() { s.system.exported = append(s.system.exported, b.Namespace+"/"+b.Name) })
		act.Artifact("text", b.Spec.Data["text"])
		return nil
	}}
}

// database is the external resource of the operator.
type database struct{ size, key string }

// databases is an external system that finds databases by their keys.
type databases struct {
	mu   sync.Mutex
	byID map[string]database
	made int
	// exported are the Boxes that actions exported.
	exported []string
}

func (s *databases) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// all describes the databases with the given IDs.
func (s *databases) all(ids ...string) (found []string) {
	s.do(func() {
		for id, d := range s.byID {
			if slices.Contains(ids, id) {
				found = append(found, fmt.Sprint(id, d))
			}
		}
	})
	slices.Sort(found)
	return found
}

// ids returns the IDs of the databases with the given size.
func (s *databases) ids(size string) (ids []string) {
	s.do(func() {
		for id, d := range s.byID {
			if d.size == size {
				ids = append(ids, id)
			}
		}
	})
	return ids
}

func (s *databases) Observe(_ context.Context, id string, want database) (seen external.Observation[database], err error) {
	s.do(func() {
		found, ok := s.byID[id]
		if !ok {
			return
		}
		seen = external.Observation[database]{Exists: true, State: found, Details: map[string][]byte{"password": []byte("password-of-" + found.size)}}
		if found.size != want.size {
			seen.Drift = []string{"size"}
		}
	})
	return seen, nil
}

func (s *databases) Create(_ context.Context, mark external.Mark, want database) (id string, err error) {
	s.do(func() {
		s.made++
		id = fmt.Sprint("db-", s.made)
		s.byID[id] = database{size: want.size, key: mark.Key}
	})
	return id, nil
}

func (s *databases) Update(_ context.Context, id string, want database) error {
	s.do(func() { s.byID[id] = database{size: want.size, key: s.byID[id].key} })
	return nil
}

func (s *databases) Delete(_ context.Context, id string) error {
	s.do(func() { delete(s.byID, id) })
	return nil
}

func (s *databases) Find(_ context.Context, key string) (found string, err error) {
	s.do(func() {
		for id, d := range s.byID {
			if strings.EqualFold(d.key, key) {
				found = id
			}
		}
	})
	return found, nil
}
