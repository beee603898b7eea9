package reconcile

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
)

// Limits of kinds that only an owner's annotation names.
// claimedAtOnce is how many of them are looked up at once; timing.claimedEvery adds one at a time.
const claimedAtOnce = 8

// Limits of an annotation that lists kinds. A user who may write an owner may write its annotations.
const (
	maxClaimed      = 64
	maxClaimedBytes = 8 << 10
)

// claimedKinds returns the kinds that the annotation of an owner lists. Of a list that is longer than any
// operator writes, only the beginning counts.
func claimedKinds(annotations map[string]string) []schema.GroupKind {
	text := annotations[plan.KindsAnnotation]
	if len(text) > maxClaimedBytes {
		text = text[:strings.LastIndexByte(text[:maxClaimedBytes], ',')+1]
	}
	kinds := plan.ParseGroupKinds(text)
	return kinds[:min(len(kinds), maxClaimed)]
}

// claimed looks up the kinds that only the annotation of an owner names. A user who may write the owner may write
// the annotation, and each lookup of an unknown kind makes the mapper, which all kinds of the process share,
// query the API server again. Lookups are therefore remembered, and limited in rate for all owners together.
type claimed struct {
	mu      sync.Mutex
	limit   *rate.Limiter
	known   map[schema.GroupKind]schema.GroupVersionKind
	unknown map[schema.GroupKind]time.Time
}

func newClaimed() *claimed {
	return &claimed{
		limit:   rate.NewLimiter(rate.Every(timing.claimedEvery), claimedAtOnce),
		known:   map[schema.GroupKind]schema.GroupVersionKind{},
		unknown: map[schema.GroupKind]time.Time{},
	}
}

// find returns the version of a kind. It reports false for a kind that is unknown or has to wait for its
// lookup: children of such a kind are left to the garbage collector.
func (c *claimed) find(mapper meta.RESTMapper, kind schema.GroupKind, now time.Time) (schema.GroupVersionKind, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.known[kind]; ok {
		return found, true
	}
	if at, ok := c.unknown[kind]; ok && now.Sub(at) < timing.unknownFor || !c.limit.AllowN(now, 1) {
		return schema.GroupVersionKind{}, false
	}
	mapping, err := mapper.RESTMapping(kind)
	if err != nil {
		c.unknown[kind] = now
		c.forget(now)
		return schema.GroupVersionKind{}, false
	}
	c.known[kind] = mapping.GroupVersionKind
	return mapping.GroupVersionKind, true
}

// forget removes the unknown kinds that may be looked up again. The limit bounds how many are left.
func (c *claimed) forget(now time.Time) {
	for kind, at := range c.unknown {
		if now.Sub(at) >= timing.unknownFor {
			delete(c.unknown, kind)
		}
	}
}
