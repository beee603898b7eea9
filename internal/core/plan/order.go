package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// CycleError reports that children wait for each other.
type CycleError struct {
	// Cycle begins and ends with the same child.
	Cycle []ID
}

func (e *CycleError) Error() string {
	var names []string
	for _, id := range e.Cycle {
		names = append(names, id.String())
	}
	return "children wait for each other: " + strings.Join(names, " comes after ")
}

// MissingError reports that a child has to come after one that is not composed.
type MissingError struct {
	ID, After ID
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is declared After(%s), but %s is not declared", e.ID, e.After, e.After)
}

// Order returns the children so that each comes after its predecessors, and
// otherwise in the order of composition. The error is a *CycleError or a *MissingError.
func Order(desired []*unstructured.Unstructured, options map[ID]Options) ([]*unstructured.Unstructured, error) {
	o := ordering{options: options, children: map[ID]*unstructured.Unstructured{}, placed: map[ID]bool{}}
	for _, child := range desired {
		o.children[Of(child)] = child
	}
	for _, child := range desired {
		if err := o.place(Of(child)); err != nil {
			return nil, err
		}
	}
	return o.ordered, nil
}

// ordering places children one by one, predecessors first.
type ordering struct {
	options  map[ID]Options
	children map[ID]*unstructured.Unstructured
	placed   map[ID]bool
	path     []ID // from the child that is being placed to the one that it waits for
	ordered  []*unstructured.Unstructured
}

func (o *ordering) place(id ID) error {
	if o.placed[id] {
		return nil
	}
	if start := slices.Index(o.path, id); start >= 0 {
		return &CycleError{Cycle: append(slices.Clone(o.path[start:]), id)}
	}
	o.path = append(o.path, id)
	for _, before := range o.options[id].After {
		if o.children[before] == nil {
			return &MissingError{ID: id, After: before}
		}
		if err := o.place(before); err != nil {
			return err
		}
	}
	o.path = o.path[:len(o.path)-1]
	o.placed[id] = true
	o.ordered = append(o.ordered, o.children[id])
	return nil
}
