package operontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// somebody is the field manager of all clients other than the operator.
const somebody = "somebody"

// Place is the API and the namespace in which a case runs.
type Place struct {
	client.Client
	// Namespace is the namespace of objects that do not set one.
	Namespace string

	real    bool
	others  map[string]Place
	restart func(context.Context) error
	refuse  func(write string, err error)
}

// Change is a change in a case that the operator did not make. A function of this type may do anything. Create, Edit,
// EditStatus and Delete return the usual changes.
type Change func(context.Context, Place) error

// Create creates an object, with its status.
func Create(object client.Object) Change {
	return func(ctx context.Context, p Place) error {
		own, err := placed(p, object)
		if err != nil {
			return err
		}
		status, err := statusOf(own)
		if err != nil {
			return err
		}
		if err := p.Client.Create(ctx, own, client.FieldOwner(somebody)); err != nil {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
		if len(status) == 0 {
			return nil
		}
		if err := p.Status().Patch(ctx, own, client.RawPatch("application/merge-patch+json", status), client.FieldOwner(somebody)); err != nil {
			return fmt.Errorf("write the status of %T %s: %w", object, object.GetName(), err)
		}
		return nil
	}
}

// Edit updates the object with the kind and name of object: edit changes the stored object.
func Edit[O client.Object](object O, edit func(O)) Change {
	return edited(object, edit, func(ctx context.Context, p Place, own client.Object, patch client.Patch) error {
		return p.Patch(ctx, own, patch, client.FieldOwner(somebody))
	})
}

// EditStatus updates the status of the object with the kind and name of object.
func EditStatus[O client.Object](object O, edit func(O)) Change {
	return edited(object, edit, func(ctx context.Context, p Place, own client.Object, patch client.Patch) error {
		return p.Status().Patch(ctx, own, patch, client.FieldOwner(somebody))
	})
}

// edited sends the changes that edit makes in the existing object.
func edited[O client.Object](object O, edit func(O), send func(context.Context, Place, client.Object, client.Patch) error) Change {
	return func(ctx context.Context, p Place) error {
		own, before, err := read(ctx, p, object)
		if err != nil {
			return err
		}
		edit(own)
		if err := send(ctx, p, own, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("edit %T %s: %w", object, object.GetName(), err)
		}
		return nil
	}
}

// Delete deletes the object with the kind and name of object.
func Delete(object client.Object) Change {
	return func(ctx context.Context, p Place) error {
		own, err := placed(p, object)
		if err != nil {
			return err
		}
		if err := p.Client.Delete(ctx, own); err != nil {
			return fmt.Errorf("delete %T %s: %w", object, object.GetName(), err)
		}
		return nil
	}
}

// Restart stops the operator and starts it again, without the data that it had in memory. The operator must not repeat writes
// that it has already made. Make it the first change of a step: on a real cluster, writes of the operator while it stops may
// not be recorded.
func Restart() Change {
	return func(ctx context.Context, p Place) error { return p.restart(ctx) }
}

// Refuse makes the API answer a write, named as in Expect, with an error from now on, such as
// apierrors.NewForbidden. A nil error allows the write again. It works only with the API in memory.
func Refuse(write string, err error) Change {
	return func(_ context.Context, p Place) error {
		if p.refuse == nil {
			return errors.New("only an API in memory refuses what a case wants")
		}
		p.refuse(write, err)
		return nil
	}
}

// read returns the existing object, and a copy of it.
func read[O client.Object](ctx context.Context, p Place, object O) (own, before O, err error) {
	own, err = placed(p, object)
	if err != nil {
		return own, before, err
	}
	if err := p.Get(ctx, client.ObjectKeyFromObject(own), own); err != nil {
		return own, before, fmt.Errorf("read %T %s: %w", object, object.GetName(), err)
	}
	before, ok := own.DeepCopyObject().(O)
	if !ok {
		return own, before, fmt.Errorf("the copy of a %T is of another type", object)
	}
	return own, before, nil
}

// statusOf returns the merge patch that writes the status of an object, or nothing if it has no status.
func statusOf(object client.Object) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	status, _ := fields["status"].(map[string]any)
	if len(status) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"status": status})
}
