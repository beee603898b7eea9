// Command daytwo is an operator that stores all sorts of state. The test TestDayTwo builds it with several versions of Operon,
// so it only imports packages that authors use.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/external"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

// run runs the operator in a namespace. Its external system is a directory.
func run(ctx context.Context, server, namespace, dir string) error {
	cluster, err := clientcmd.BuildConfigFromFlags(server, "")
	if err != nil {
		return err
	}
	return operon.Run(ctx, "daytwo", cluster, operon.Config{Namespace: namespace},
		operon.API(addToScheme), operon.Version("1.0.0"), operon.Manage(boxes{disk(dir)}))
}

// boxes composes for each Box children of several sorts, an external resource and a workflow.
type boxes struct{ disk disk }

func (boxes) Compose(_ context.Context, b *Box, out *operon.Composition) error {
	labels := map[string]string{"box": b.Name}
	base := &corev1.ConfigMap{ObjectMeta: named(b.Name), Data: b.Spec.Data}
	out.Child(base)
	out.Child(&corev1.Secret{ObjectMeta: named(b.Name), StringData: map[string]string{"password": "open sesame"}}, operon.Orphan())
	out.Child(&corev1.Service{ObjectMeta: named(b.Name), Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}}, operon.After(base))
	out.Child(&rbacv1.ClusterRole{ObjectMeta: named(b.Namespace + "-" + b.Name)})
	out.Child(&appsv1.Deployment{
		ObjectMeta: named(b.Name),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
			},
		},
	})
	return nil
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func (b boxes) ComposeExternal(_ context.Context, _ *Box, out *operon.ExternalComposition) error {
	operon.ExternalKind(out, "file", b.disk).Declare("one", "content")
	return nil
}

func (boxes) Observe(_ context.Context, b *Box, seen *operon.Observed) error {
	files, err := operon.External[string](seen, "file")
	if err != nil {
		return err
	}
	b.Status.Seen = nil
	for _, file := range files {
		b.Status.Seen = append(b.Status.Seen, file.Name)
	}
	return nil
}

// Finalize does nothing, but puts a finalizer on the Boxes.
func (boxes) Finalize(context.Context, *Box, *operon.Finalization) error { return nil }

// RunWorkflow takes one step, which can be undone, and then waits for the ConfigMap that the Box names as its door. It prints the name
// of the Box, so that the test knows that it was reconciled.
func (boxes) RunWorkflow(ctx context.Context, b *Box, run *durable.Run) error {
	fmt.Println("reconciled " + b.Name)
	do := func(name string, wait func(context.Context, *durable.Attempt) error) error {
		_, err := durable.Do(ctx, run, durable.Step[string]{
			Name: name,
			Do:   func(ctx context.Context, a *durable.Attempt) (string, error) { return name, wait(ctx, a) },
			Undo: func(context.Context, *durable.Attempt, string) error { return nil },
		})
		return err
	}
	if err := do("begin", func(context.Context, *durable.Attempt) error { return nil }); err != nil {
		return err
	}
	return do("enter", func(ctx context.Context, a *durable.Attempt) error {
		door := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Spec.Data["door"]}}
		if door.Name == "" {
			return nil
		}
		if exists, err := a.Get(ctx, door); err != nil || exists {
			return err
		}
		return durable.Wait("for the door")
	})
}

// disk is an external system that keeps files by their keys.
type disk string

func (d disk) path(id string) string { return filepath.Join(string(d), id) }

func (d disk) Observe(_ context.Context, id, want string) (seen external.Observation[string], err error) {
	data, err := os.ReadFile(d.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return seen, nil
	}
	seen.Exists, seen.State = err == nil, string(data)
	return seen, err
}

func (d disk) Create(_ context.Context, mark external.Mark, want string) (string, error) {
	return mark.Key, os.WriteFile(d.path(mark.Key), []byte(want), 0o600)
}

func (disk) Update(context.Context, string, string) error { return nil }

func (d disk) Delete(_ context.Context, id string) error {
	if err := os.Remove(d.path(id)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d disk) Find(_ context.Context, key string) (string, error) {
	if _, err := os.Stat(d.path(key)); err != nil {
		return "", nil
	}
	return key, nil
}

// Box is the kind of test/testdata/boxes.yaml.
type Box struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Data map[string]string `json:"data,omitempty"`
	} `json:"spec,omitempty"`
	Status struct {
		Seen               []string           `json:"seen,omitempty"`
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Journal            *journal.Journal   `json:"journal,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitempty"`
}

// BoxList is a list of Boxes.
type BoxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Box `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (b *Box) DeepCopyObject() runtime.Object { return copied(b) }

// DeepCopyObject implements runtime.Object.
func (l *BoxList) DeepCopyObject() runtime.Object { return copied(l) }

func copied[T any](in *T) *T {
	out := new(T)
	data, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func addToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "test.operon.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Box{}, &BoxList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
