package aggregated

import (
	"fmt"
	"reflect"

	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// roles are those of a reader that it may or may not have. Nil: it has not.
type roles[T client.Object] struct {
	*reading[T]
	c *creating[T]
	u *updating[T]
	d *deleting[T]
	w *watching[T]
}

// combine returns a storage with the methods for the optional interfaces of a reader and no others: the API server derives
// the verbs in discovery from the methods of a storage. Therefore each set of interfaces has a struct.
func combine[T client.Object](shared common[T], reader Reader[T]) rest.Storage {
	r := roles[T]{reading: &reading[T]{shared, reader}}
	if creator, ok := reader.(Creator[T]); ok {
		r.c = &creating[T]{r.reading, creator}
	}
	if updater, ok := reader.(Updater[T]); ok {
		r.u = &updating[T]{r.reading, updater, r.c}
	}
	if deleter, ok := reader.(Deleter[T]); ok {
		r.d = &deleting[T]{r.reading, deleter}
	}
	if watcher, ok := reader.(Watcher[T]); ok {
		r.w = &watching[T]{r.reading, watcher}
	}
	switch {
	case r.c != nil && r.u != nil:
		return r.createdAndUpdated()
	case r.c != nil:
		return r.created()
	case r.u != nil:
		return r.updated()
	}
	return r.kept()
}

// misses returns an error for a method that has the name of an optional interface's method, but another signature. Otherwise
// its verb would be missing without an explanation.
func misses[T client.Object](reader Reader[T]) error {
	has := reflect.TypeOf(reader)
	for _, role := range []reflect.Type{
		reflect.TypeFor[Creator[T]](), reflect.TypeFor[Updater[T]](), reflect.TypeFor[Deleter[T]](), reflect.TypeFor[Watcher[T]](),
	} {
		if has.Implements(role) {
			continue
		}
		if reflect.PointerTo(has).Implements(role) {
			return fmt.Errorf("%s has no method %s, and *%s has: give a pointer to it", has, role.Method(0).Name, has)
		}
		method := role.Method(0)
		if found := reflect.ValueOf(reader).MethodByName(method.Name); found.IsValid() {
			return fmt.Errorf("the method %s of %s is %s: want %s", method.Name, has, found.Type(), method.Type)
		}
	}
	return nil
}

// kept is what nobody makes or changes.
func (r roles[T]) kept() rest.Storage {
	switch {
	case r.d != nil && r.w != nil:
		return &struct {
			*reading[T]
			*deleting[T]
			*watching[T]
		}{r.reading, r.d, r.w}
	case r.d != nil:
		return &struct {
			*reading[T]
			*deleting[T]
		}{r.reading, r.d}
	case r.w != nil:
		return &struct {
			*reading[T]
			*watching[T]
		}{r.reading, r.w}
	}
	return r.reading
}

// created is what is made and not changed.
func (r roles[T]) created() rest.Storage {
	switch {
	case r.d != nil && r.w != nil:
		return &struct {
			*reading[T]
			*creating[T]
			*deleting[T]
			*watching[T]
		}{r.reading, r.c, r.d, r.w}
	case r.d != nil:
		return &struct {
			*reading[T]
			*creating[T]
			*deleting[T]
		}{r.reading, r.c, r.d}
	case r.w != nil:
		return &struct {
			*reading[T]
			*creating[T]
			*watching[T]
		}{r.reading, r.c, r.w}
	}
	return &struct {
		*reading[T]
		*creating[T]
	}{r.reading, r.c}
}

// updated is what is changed and not made.
func (r roles[T]) updated() rest.Storage {
	switch {
	case r.d != nil && r.w != nil:
		return &struct {
			*reading[T]
			*updating[T]
			*deleting[T]
			*watching[T]
		}{r.reading, r.u, r.d, r.w}
	case r.d != nil:
		return &struct {
			*reading[T]
			*updating[T]
			*deleting[T]
		}{r.reading, r.u, r.d}
	case r.w != nil:
		return &struct {
			*reading[T]
			*updating[T]
			*watching[T]
		}{r.reading, r.u, r.w}
	}
	return &struct {
		*reading[T]
		*updating[T]
	}{r.reading, r.u}
}

// createdAndUpdated is what is made and changed.
func (r roles[T]) createdAndUpdated() rest.Storage {
	switch {
	case r.d != nil && r.w != nil:
		return &struct {
			*reading[T]
			*creating[T]
			*updating[T]
			*deleting[T]
			*watching[T]
		}{r.reading, r.c, r.u, r.d, r.w}
	case r.d != nil:
		return &struct {
			*reading[T]
			*creating[T]
			*updating[T]
			*deleting[T]
		}{r.reading, r.c, r.u, r.d}
	case r.w != nil:
		return &struct {
			*reading[T]
			*creating[T]
			*updating[T]
			*watching[T]
		}{r.reading, r.c, r.u, r.w}
	}
	return &struct {
		*reading[T]
		*creating[T]
		*updating[T]
	}{r.reading, r.c, r.u}
}
