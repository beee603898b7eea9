package shard

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// leases simulates an API server with Leases, as far as members depend on it: versions, preconditions,
// and watches in the order of the changes. The tests of package operon check members with real Leases;
// this one simulates hours in a second.
type leases struct {
	mu     sync.Mutex
	stored map[string]*coordinationv1.Lease
	// past is the list of all changes: the index of a change is the revision before it.
	past    []happening
	changed chan struct{}
	uids    int
}

// happening is a change of a Lease; nil means that it does not exist.
type happening struct{ before, after *coordinationv1.Lease }

func newLeases() *leases {
	return &leases{stored: map[string]*coordinationv1.Lease{}, changed: make(chan struct{})}
}

// put stores a Lease, or removes it if after is nil. The lock is held.
func (s *leases) put(name string, after *coordinationv1.Lease) {
	before, revision := s.stored[name], strconv.Itoa(len(s.past)+1)
	if after == nil {
		gone := before.DeepCopy()
		gone.ResourceVersion = revision
		delete(s.stored, name)
		s.past = append(s.past, happening{before: gone})
	} else {
		after.ResourceVersion = revision
		s.stored[name] = after.DeepCopy()
		s.past = append(s.past, happening{before, s.stored[name]})
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// edit changes or removes Leases, as a user does: edit reports whether one stays.
func (s *leases) edit(edit func(*coordinationv1.Lease) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, lease := range s.stored {
		edited := lease.DeepCopy()
		if !edit(edited) {
			edited = nil
		}
		s.put(name, edited)
	}
}

// wired is a member's connection to the Leases. It is slow, loses responses, and may be cut.
type wired struct {
	client.WithWatch
	leases *leases

	mu     sync.Mutex
	random *rand.Rand
	// slow is the maximum duration of a message; lossy means that some get lost.
	slow  time.Duration
	lossy bool
	// cut is closed when the connection is restored, and nil while it is intact.
	cut chan struct{}
}

var errLossy = errors.New("connection reset by peer")

// errExpired is the error with which reads and watches end: reflectors do not report it, and start again.
var errExpired = apierrors.NewResourceExpired("the connection was lost")

// pass transmits a message in one direction.
func (c *wired) pass(ctx context.Context) error {
	c.mu.Lock()
	takes, lost, cut := time.Duration(c.random.Int64N(int64(c.slow))), c.lossy && c.random.IntN(20) == 0, c.cut
	c.mu.Unlock()
	if cut != nil {
		select {
		case <-cut:
		case <-ctx.Done():
		}
	}
	wait(ctx, takes)
	if lost {
		return errLossy
	}
	return ctx.Err()
}

// do executes an operation on the Leases, and sometimes loses the request or the response.
func (c *wired) do(ctx context.Context, what func() error) error {
	if err := c.pass(ctx); err != nil {
		return err
	}
	c.leases.mu.Lock()
	err := what()
	c.leases.mu.Unlock()
	if lost := c.pass(ctx); lost != nil {
		return lost
	}
	return err
}

// Create implements client.Client.
func (c *wired) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	return c.do(ctx, func() error {
		if c.leases.stored[o.GetName()] != nil {
			return apierrors.NewAlreadyExists(leaseResource, o.GetName())
		}
		c.leases.uids++
		o.SetUID(types.UID(strconv.Itoa(c.leases.uids)))
		c.leases.put(o.GetName(), o.(*coordinationv1.Lease))
		return nil
	})
}

// Get implements client.Client.
func (c *wired) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	return c.do(ctx, func() error {
		lease := c.leases.stored[key.Name]
		if lease == nil {
			return apierrors.NewNotFound(leaseResource, key.Name)
		}
		lease.DeepCopyInto(o.(*coordinationv1.Lease))
		return nil
	})
}

// Update implements client.Client. It is a conflict if the Lease has another UID or does not exist: API
// servers would create one without a UID.
func (c *wired) Update(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
	return c.do(ctx, func() error {
		lease := c.leases.stored[o.GetName()]
		if lease == nil || lease.UID != o.GetUID() || lease.ResourceVersion != o.GetResourceVersion() {
			return apierrors.NewConflict(leaseResource, o.GetName(), errors.New("another version"))
		}
		if !equality.Semantic.DeepEqual(o, lease) { // an update without a change is not a write
			c.leases.put(o.GetName(), o.(*coordinationv1.Lease))
		}
		return nil
	})
}

// Delete implements client.Client.
func (c *wired) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	wanted := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions
	return c.do(ctx, func() error {
		lease := c.leases.stored[o.GetName()]
		if lease == nil {
			return apierrors.NewNotFound(leaseResource, o.GetName())
		}
		if *wanted.UID != lease.UID || wanted.ResourceVersion != nil && *wanted.ResourceVersion != lease.ResourceVersion {
			return apierrors.NewConflict(leaseResource, o.GetName(), errors.New("another version"))
		}
		c.leases.put(o.GetName(), nil)
		return nil
	})
}

// List implements client.Client.
func (c *wired) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	chosen := (&client.ListOptions{}).ApplyOptions(options).LabelSelector
	err := c.do(ctx, func() error {
		found := list.(*coordinationv1.LeaseList)
		found.ResourceVersion = strconv.Itoa(len(c.leases.past))
		for _, lease := range c.leases.stored {
			if chosen.Matches(labels.Set(lease.Labels)) {
				found.Items = append(found.Items, *lease.DeepCopy())
			}
		}
		return nil
	})
	if err != nil {
		return errExpired
	}
	return nil
}

// Watch implements client.WithWatch.
func (c *wired) Watch(ctx context.Context, _ client.ObjectList, options ...client.ListOption) (apiwatch.Interface, error) {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if asked.Raw.SendInitialEvents != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil) // then they list
	}
	if err := c.pass(ctx); err != nil {
		return nil, errExpired
	}
	since, err := strconv.Atoi(asked.Raw.ResourceVersion)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	w := &watched{stop: stop, events: make(chan apiwatch.Event)}
	go c.tell(ctx, w, since, asked.LabelSelector)
	return w, nil
}

// tell sends changes to a watch, in order, and sometimes breaks the watch.
func (c *wired) tell(ctx context.Context, w *watched, since int, chosen labels.Selector) {
	defer close(w.events)
	for ctx.Err() == nil {
		c.leases.mu.Lock()
		news, changed := slices.Clone(c.leases.past[since:]), c.leases.changed
		c.leases.mu.Unlock()
		for _, one := range news {
			since++
			event, shows := one.event(chosen)
			if !shows {
				continue
			}
			if c.pass(ctx) != nil {
				event = apiwatch.Event{Type: apiwatch.Error, Object: new(errExpired.Status())}
			}
			select {
			case w.events <- event:
			case <-ctx.Done():
				return
			}
		}
		if len(news) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// event returns the watch event of selected Leases for a change.
func (h happening) event(chosen labels.Selector) (_ apiwatch.Event, shows bool) {
	was := h.before != nil && chosen.Matches(labels.Set(h.before.Labels))
	is := h.after != nil && chosen.Matches(labels.Set(h.after.Labels))
	switch {
	case was && is:
		return apiwatch.Event{Type: apiwatch.Modified, Object: h.after.DeepCopy()}, true
	case is:
		return apiwatch.Event{Type: apiwatch.Added, Object: h.after.DeepCopy()}, true
	case was && h.after == nil:
		return apiwatch.Event{Type: apiwatch.Deleted, Object: h.before.DeepCopy()}, true
	case was:
		gone := h.before.DeepCopy()
		gone.ResourceVersion = h.after.ResourceVersion
		return apiwatch.Event{Type: apiwatch.Deleted, Object: gone}, true
	}
	return apiwatch.Event{}, false
}

// watched is a watch of Leases.
type watched struct {
	stop   context.CancelFunc
	events chan apiwatch.Event
}

// Stop implements watch.Interface.
func (w *watched) Stop() { w.stop() }

// ResultChan implements watch.Interface.
func (w *watched) ResultChan() <-chan apiwatch.Event { return w.events }
