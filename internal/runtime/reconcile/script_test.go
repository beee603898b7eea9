package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/operontest"
)

// script is a composer that does what the data of the Box says. In the order of the keys:
//
//	ConfigMap/NAME: VALUE        a ConfigMap with data a=VALUE; NAME may be NAMESPACE.NAME
//	Deployment/NAME: REPLICAS    a Deployment
//	after/NAME: OTHER            of the ConfigMap NAME: it comes after the Deployment OTHER
//	adopt/NAME, orphan/NAME, replace/NAME: options of the ConfigMap NAME
//	read: NAME                   waits until there is a Secret of that name
//	wait: MESSAGE, fail: MESSAGE, panic: MESSAGE, again: DURATION, twice: NAME
//	stall: MESSAGE, terminal: MESSAGE, event: MESSAGE, warning: MESSAGE: the author's Fail, TerminalError, Event and Warning
//	notready: MESSAGE, degraded: MESSAGE: what Observe reports
//	label/KEY: VALUE, annotation/KEY: VALUE: of the Box itself
//	partial: the composition is not complete, if there is any value
//	observe: fail or panic       what Observe does, instead of listing the children that it sees
type script struct{}

func (script) Compose(ctx context.Context, b *box.Box, out *operon.Composition) error {
	for _, key := range slices.Sorted(maps.Keys(b.Spec.Data)) {
		verb, name, _ := strings.Cut(key, "/")
		value := b.Spec.Data[key]
		switch verb {
		case "ConfigMap":
			out.Child(configMap(name, value), optionsOf(b, name)...)
		case "Deployment":
			replicas, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			out.Child(deployment(name, int32(replicas)))
		case "label":
			out.Label(name, value)
		case "annotation":
			out.Annotate(name, value)
		case "partial":
			out.Partial()
		case "twice":
			out.Child(configMap(value, "1"))
			out.Child(configMap(value, "2"))
		case "read":
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: value}}
			found, err := out.Get(ctx, secret)
			if err != nil {
				return err
			}
			if !found {
				out.Wait("SecretMissing", "Secret "+value+" does not exist")
			}
		case "wait":
			out.Wait("Scripted", value)
		case "again":
			after, err := time.ParseDuration(value)
			if err != nil {
				return err
			}
			out.RequeueAfter(after)
		case "stall":
			out.Fail("Scripted", value)
		case "event":
			out.Event("Scripted", value)
		case "warning":
			out.Warning("Scripted", value)
		case "terminal":
			return operon.TerminalError("Scripted", errors.New(value))
		case "fail":
			return errors.New(value)
		case "panic":
			panic(value)
		}
	}
	return nil
}

func (script) Observe(ctx context.Context, b *box.Box, seen *operon.Observed) error {
	switch b.Spec.Data["observe"] {
	case "fail":
		return errors.New("the observer fails")
	case "panic":
		panic("the observer panics")
	}
	if message := b.Spec.Data["notready"]; message != "" {
		seen.NotReady("Scripted", message)
	}
	if message := b.Spec.Data["degraded"]; message != "" {
		seen.Degraded("Scripted", message)
	}
	b.Status.Seen = nil
	for _, key := range slices.Sorted(maps.Keys(b.Spec.Data)) {
		name, ok := strings.CutPrefix(key, "ConfigMap/")
		if !ok {
			continue
		}
		child := configMap(name, "")
		found, err := seen.Child(ctx, child)
		if err != nil {
			return err
		}
		if found {
			b.Status.Seen = append(b.Status.Seen, name+"="+child.Data["a"])
		}
	}
	return nil
}

func optionsOf(b *box.Box, name string) []operon.ChildOption {
	var options []operon.ChildOption
	if other, ok := b.Spec.Data["after/"+name]; ok {
		options = append(options, operon.After(deployment(other, 0)))
	}
	for word, option := range map[string]operon.ChildOption{"adopt": operon.Adopt(), "orphan": operon.Orphan(), "replace": operon.Replace()} {
		if _, ok := b.Spec.Data[word+"/"+name]; ok {
			options = append(options, option)
		}
	}
	return options
}

// working is a script that has steps, too: "work" lists them, "step/NAME" is an error of one, and "until/NAME" is what one waits for.
type working struct{ script }

func (working) RunWorkflow(ctx context.Context, b *box.Box, run *durable.Run) error {
	for _, name := range strings.Fields(b.Spec.Data["work"]) {
		if _, err := durable.Do(ctx, run, durable.Step[string]{Name: name, Do: func(context.Context, *durable.Attempt) (string, error) {
			if message := b.Spec.Data["step/"+name]; message != "" {
				return "", errors.New(message)
			}
			if message := b.Spec.Data["until/"+name]; message != "" {
				return "", durable.Wait(message)
			}
			return "done", nil
		}}); err != nil {
			return err
		}
	}
	return nil
}

// finalizing is a script that cleans up: "cleanup" is done, or fails or waits.
type finalizing struct{ script }

func (finalizing) Finalize(_ context.Context, b *box.Box, out *operon.Finalization) error {
	switch b.Spec.Data["cleanup"] {
	case "fail":
		return errors.New("the backup failed")
	case "wait":
		out.Wait("BackupRunning", "the last backup is running")
	case "done":
		out.Event("BackedUp", "the last backup is complete")
	}
	return nil
}

// defaulting is a script with a default: a ConfigMap.
type defaulting struct{ script }

func (defaulting) Default(_ context.Context, b *box.Box) error {
	if b.Spec.Data["default"] == "fail" {
		return errors.New("no default is known")
	}
	if b.Spec.Data == nil {
		b.Spec.Data = map[string]string{"ConfigMap/default": "1"}
	}
	return nil
}

func composerOf(role string) (operon.Composer[*box.Box], error) {
	switch role {
	case "":
		return script{}, nil
	case "work":
		return working{}, nil
	case "finalize":
		return finalizing{}, nil
	case "default":
		return defaulting{}, nil
	}
	return nil, fmt.Errorf("unknown role %q", role)
}

func configMap(name, value string) *corev1.ConfigMap {
	namespace, rest, elsewhere := strings.Cut(name, ".")
	if !elsewhere {
		namespace, rest = "", name
	}
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: rest}}
	if value != "" {
		c.Data = map[string]string{"a": value}
	}
	return c
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		},
	}
}

// object returns the object of a kind and name, as in ConfigMap/NAME.
func object(what string) (client.Object, error) {
	kind, name, _ := strings.Cut(what, "/")
	switch kind {
	case "Box":
		return &box.Box{ObjectMeta: metav1.ObjectMeta{Name: "box"}}, nil
	case "ConfigMap":
		return configMap(name, ""), nil
	case "Deployment":
		return deployment(name, 1), nil
	case "Secret":
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
	}
	return nil, fmt.Errorf("unknown object %q", what)
}

// existing returns given objects, as in ConfigMap/NAME.
func existing(all []string) ([]client.Object, error) {
	var objects []client.Object
	for _, what := range all {
		o, err := object(what)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// errorOf returns the error of the API server for a word.
func errorOf(word string) (error, error) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	switch word {
	case "pass":
		return nil, nil
	case "conflict":
		return apierrors.NewConflict(configMaps, "x", errors.New("it has changed")), nil
	case "forbidden":
		return apierrors.NewForbidden(configMaps, "x", errors.New("no RBAC rule allows it")), nil
	case "invalid":
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "x", nil), nil
	case "unavailable":
		return apierrors.NewServiceUnavailable("try again later"), nil
	case "timeout":
		return apierrors.NewTimeoutError("no answer", 1), nil
	}
	return nil, fmt.Errorf("unknown error %q", word)
}

// changeOf reads a change:
//
//	spec KEY=VALUE, spec -KEY, annotate KEY=VALUE, annotate -KEY    of the Box
//	label KEY=VALUE, label -KEY                                     of the Box
//	create WHAT, delete WHAT, edit WHAT VALUE, ready WHAT           of an object such as ConfigMap/NAME
//	answer WORD WRITE                                               the API server answers a write so, "pass" for no more
//	restart                                                         the operator starts again
func changeOf(text string) (operontest.Change, error) {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "restart":
		return operontest.Restart(), nil
	case "answer":
		word, write, _ := strings.Cut(rest, " ")
		answer, err := errorOf(word)
		return operontest.Refuse(write, answer), err
	case "spec":
		return operontest.Edit(&box.Box{ObjectMeta: metav1.ObjectMeta{Name: "box"}}, func(b *box.Box) { b.Spec.Data = with(b.Spec.Data, rest) }), nil
	case "label":
		return operontest.Edit(&box.Box{ObjectMeta: metav1.ObjectMeta{Name: "box"}}, func(b *box.Box) { b.Labels = with(b.Labels, rest) }), nil
	case "annotate":
		return operontest.Edit(&box.Box{ObjectMeta: metav1.ObjectMeta{Name: "box"}}, func(b *box.Box) { b.Annotations = with(b.Annotations, rest) }), nil
	}
	what, value, _ := strings.Cut(rest, " ")
	o, err := object(what)
	if err != nil {
		return nil, err
	}
	switch verb {
	case "create":
		return operontest.Create(o), nil
	case "delete":
		return operontest.Delete(o), nil
	case "ready":
		return operontest.ComesUp(o), nil
	case "edit":
		edited, ok := o.(*corev1.ConfigMap)
		if !ok {
			return nil, fmt.Errorf("only ConfigMaps are edited, not %s", what)
		}
		return operontest.Edit(edited, func(c *corev1.ConfigMap) { c.Data = map[string]string{"a": value} }), nil
	}
	return nil, fmt.Errorf("unknown change %q", text)
}

// with returns a map with KEY=VALUE set, or without -KEY.
func with(all map[string]string, change string) map[string]string {
	changed := maps.Clone(all)
	if changed == nil {
		changed = map[string]string{}
	}
	if key, removed := strings.CutPrefix(change, "-"); removed {
		delete(changed, key)
		return changed
	}
	key, value, _ := strings.Cut(change, "=")
	changed[key] = value
	return changed
}
