package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// counting is a mapper that knows one kind and counts its calls.
type counting struct {
	meta.RESTMapper
	asked int
}

func (c *counting) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	c.asked++
	if kind.Kind == "ConfigMap" {
		return &meta.RESTMapping{GroupVersionKind: kind.WithVersion("v1")}, nil
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind}
}

func TestAnAnnotationCausesFewLookups(t *testing.T) {
	t.Parallel()
	mapper, c, now := &counting{}, newClaimed(), time.Unix(1e9, 0)
	configMap := schema.GroupKind{Kind: "ConfigMap"}
	if found, ok := c.find(mapper, configMap, now); !ok || found != configMap.WithVersion("v1") {
		t.Errorf("found %v, %t", found, ok)
	}
	for i := range 37000 {
		c.find(mapper, schema.GroupKind{Group: fmt.Sprintf("invented-%d", i), Kind: "X"}, now)
	}
	if mapper.asked != claimedAtOnce {
		t.Errorf("the mapper was asked %d times, want %d", mapper.asked, claimedAtOnce)
	}
	for range 3 {
		now = now.Add(timing.claimedEvery)
		for i := range 100 {
			c.find(mapper, schema.GroupKind{Group: fmt.Sprintf("more-%d", i), Kind: now.String()}, now)
		}
	}
	if want := claimedAtOnce + 3; mapper.asked != want {
		t.Errorf("after three minutes the mapper was asked %d times, want %d", mapper.asked, want)
	}
	if _, ok := c.find(mapper, configMap, now); !ok {
		t.Error("a known kind was limited, too")
	}
}

func TestAnUnknownKindIsRemembered(t *testing.T) {
	t.Parallel()
	mapper, c, now := &counting{}, newClaimed(), time.Unix(1e9, 0)
	for range 5 {
		c.find(mapper, schema.GroupKind{Kind: "Gone"}, now)
	}
	if mapper.asked != 1 {
		t.Errorf("asked %d times", mapper.asked)
	}
	c.find(mapper, schema.GroupKind{Kind: "Gone"}, now.Add(timing.unknownFor))
	if mapper.asked != 2 {
		t.Errorf("asked %d times after the kind may have been installed", mapper.asked)
	}
}

// forbidding is an API server that refuses to list children.
type forbidding struct{ author.Reads }

func (forbidding) Children(context.Context, resourceclient.Children, types.UID, ...string) ([]*plan.Live, error) {
	return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no RBAC rule allows it"))
}

func TestAForbiddenKindOfAnAnnotationHoldsNoDeletion(t *testing.T) {
	t.Parallel()
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	now := metav1.Now()
	for name, test := range map[string]struct {
		claimed []schema.GroupVersionKind
		holds   bool
	}{
		"only the annotation names it": {[]schema.GroupVersionKind{secret}, false},
		"the record names it":          {nil, true},
	} {
		r := &reader{
			reads: forbidding{}, kinds: &kinds{}, family: &apply.Family{}, claimed: test.claimed,
			owner: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}},
		}
		if _, err := r.kindOfEarlier(t.Context(), nil, secret); (err != nil) != test.holds {
			t.Errorf("%s: %v, want an error: %t", name, err, test.holds)
		}
	}
}

func TestClaimedKindsAreLimited(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 37000 {
		many = append(many, fmt.Sprintf("K.g%d", i))
	}
	for text, want := range map[string]int{
		"":                                     0,
		"ConfigMap,Deployment.apps":            2,
		strings.Join(many, ","):                maxClaimed,
		strings.Repeat("x", maxClaimedBytes+1): 0, // a truncated name is a different name
		"A," + strings.Repeat("x", 256<<10):    1,
	} {
		if got := claimedKinds(map[string]string{plan.KindsAnnotation: text}); len(got) != want {
			t.Errorf("%d kinds of %d bytes, want %d", len(got), len(text), want)
		}
	}
}
