package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/engine"
)

// Prune deletes the children of an earlier run that this run used neither by name nor in a list, and returns those that it did not delete,
// as they are now. It deletes nothing if keep is set, or if the record of what the run used is not complete.
func (s *Session) Prune(ctx context.Context, before, now []engine.RunObject, keep bool) (kept []engine.RunObject, err error) {
	s.mu.Lock()
	keep = keep || s.missed
	s.mu.Unlock()
	used := map[engine.RunObject]bool{}
	for _, o := range now {
		used[identity(o)] = true
	}
	var errs []error
	for _, child := range before {
		kind := schema.FromAPIVersionAndKind(child.APIVersion, child.Kind)
		if !child.Owned || used[identity(child)] || slices.Contains(s.Ignored, kind) {
			continue
		}
		if s.proxy == nil { // the run has not begun
			kept = append(kept, child)
			continue
		}
		live, err := s.proxy.child(ctx, s.Owner, child)
		if err == nil && live == nil {
			continue
		}
		if err == nil && !keep && !isListed(child, live.Labels, now) {
			if err = s.proxy.remove(ctx, child, live); err == nil {
				continue
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s, which the run no longer uses: %w", Place(child), err))
		} else {
			child.Version = Version(live, child.WithStatus) // a change in the meantime is no reason for another run
		}
		kept = append(kept, child)
	}
	return kept, errors.Join(errs...)
}

// identity returns the part of a record that identifies an object.
func identity(o engine.RunObject) engine.RunObject {
	kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
	return engine.RunObject{Kind: kind.String(), Namespace: o.Namespace, Name: o.Name}
}

// child reads a child. It returns nil if the child does not exist, or belongs to someone else by now.
func (p *Proxy) child(ctx context.Context, owner Owner, o engine.RunObject) (*metav1.PartialObjectMetadata, error) {
	path, err := p.path(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), o.Namespace, o.Name)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live, err := p.metadata(ctx, path, nil)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case live.DeletionTimestamp != nil || !owner.owns(live):
		return nil, nil
	}
	return live, nil
}

// remove deletes a child, unless it was replaced since it was read.
func (p *Proxy) remove(ctx context.Context, o engine.RunObject, live *metav1.PartialObjectMetadata) error {
	path, err := p.path(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), o.Namespace, o.Name)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	options, err := json.Marshal(&metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(live.UID)), PropagationPolicy: &background})
	if err != nil {
		return err
	}
	err = p.send(ctx, http.MethodDelete, path, nil, "", bytes.NewReader(options), nil)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// isListed reports whether an object with labels is in one of the lists of a run.
func isListed(child engine.RunObject, has labels.Set, now []engine.RunObject) bool {
	for _, list := range now {
		if list.Name != "" || list.Namespace != "" && list.Namespace != child.Namespace {
			continue
		}
		list.Namespace, list.Name = child.Namespace, child.Name
		selector, err := labels.Parse(list.Selector)
		if identity(list) == identity(child) && (err != nil || selector.Matches(has)) {
			return true
		}
	}
	return false
}
