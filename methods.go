package operon

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// optional are the interfaces that a composer may implement in addition to Composer.
func optional[T client.Object]() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[Observer[T]](), reflect.TypeFor[Finalizer[T]](), reflect.TypeFor[Defaulter[T]](),
		reflect.TypeFor[Validator[T]](), reflect.TypeFor[DeletionValidator[T]](), reflect.TypeFor[WorkflowRunner[T]](),
		reflect.TypeFor[Canceler[T]](), reflect.TypeFor[Upgrader[T]](), reflect.TypeFor[ExternalComposer[T]](),
		reflect.TypeFor[ActionHandler[T]](),
	}
}

// checkMethods returns an error for a method of a composer that looks like a method that Operon calls but would never
// be called: its name matches and its signature does not, or its signature matches and its name is similar.
func checkMethods[T client.Object](composer Composer[T]) error {
	is := reflect.TypeOf(composer)
	all := optional[T]()
	for _, wants := range all {
		want := wants.Method(0)
		if found, ok := is.MethodByName(want.Name); ok && !is.Implements(wants) {
			return fmt.Errorf("%s has a method %s%s, which Operon would never call: the signature must be %s, or give the method another name",
				is, want.Name, signature(found.Type, 1), signature(want.Type, 0))
		}
	}
	for i := range is.NumMethod() {
		method := is.Method(i)
		for _, wants := range all {
			want := wants.Method(0)
			if !is.Implements(wants) && similar(method.Name, want.Name) && slices.Equal(parameters(method.Type, 1), parameters(want.Type, 0)) {
				return fmt.Errorf("%s has a method %s, which Operon would never call: is it meant to be %s?", is, method.Name, want.Name)
			}
		}
	}
	return nil
}

// similar reports whether a name may be a misspelling of another one: they differ in the last three letters at most, or
// in upper and lower case.
func similar(name, other string) bool {
	name, other = strings.ToLower(name), strings.ToLower(other)
	if name == other {
		return true
	}
	same := 0
	for same < min(len(name), len(other)) && name[same] == other[same] {
		same++
	}
	return same >= max(3, len(other)-3) && len(name)-same <= 3
}

// parameters returns the parameters of a function from the nth on.
func parameters(function reflect.Type, from int) []reflect.Type {
	var all []reflect.Type
	for i := from; i < function.NumIn(); i++ {
		all = append(all, function.In(i))
	}
	return all
}

// signature returns the signature of a function in Go syntax, without its parameters before the nth.
func signature(function reflect.Type, from int) string {
	var in, out []string
	for _, parameter := range parameters(function, from) {
		in = append(in, nameOf(parameter))
	}
	for i := range function.NumOut() {
		out = append(out, nameOf(function.Out(i)))
	}
	results := strings.Join(out, ", ")
	if len(out) > 1 {
		results = "(" + results + ")"
	}
	return strings.TrimSpace("(" + strings.Join(in, ", ") + ") " + results)
}

// nameOf returns a type as an author writes it: type arguments have no import paths.
func nameOf(of reflect.Type) string {
	if of == reflect.TypeFor[context.Context]() {
		return "context.Context"
	}
	name, argument, generic := strings.Cut(of.String(), "[")
	if !generic || strings.HasPrefix(of.String(), "[") {
		return of.String()
	}
	stars := argument[:len(argument)-len(strings.TrimLeft(argument, "*"))]
	return name + "[" + stars + argument[strings.LastIndex(argument, "/")+1:]
}
