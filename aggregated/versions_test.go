package aggregated_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/aggregated"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// An operator that serves a version no more removes its APIService, as requests for it would fail, and the
// emptying of namespaces with them. What it did not make, and what leads to another client by now, it leaves.
func TestVersionsThatAreServedNoMore(t *testing.T) {
	t.Parallel()
	env := localtest.New(t, local.Options{})
	c, err := client.NewWithWatch(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lead := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "api"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	if err := c.Create(t.Context(), lead); err != nil {
		t.Fatal(err)
	}
	v3, v9 := schema.GroupVersion{Group: group, Version: "v3"}, schema.GroupVersion{Group: group, Version: "v9"}
	stop := serveAs(t, env, version, v3, v9)
	for _, one := range []schema.GroupVersion{version, v3, v9} {
		registered(t, c, one)
	}
	seen := watched(t, c, v9)
	stop()
	for event := range seen.ResultChan() {
		t.Errorf("the watch ends with %+v", event)
	}

	// v3 is another client's now, and v4 was never this operator's, whatever its record says.
	theirs := registered(t, c, v3)
	if err := unstructured.SetNestedField(theirs.Object, "theirs", "spec", "service", "name"); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	v4 := schema.GroupVersion{Group: group, Version: "v4"}
	foreign := theirs.DeepCopy()
	foreign.Object = map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "spec": map[string]any{
		"group": group, "version": "v4", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10), "insecureSkipTLSVerify": true,
		"service": map[string]any{"namespace": env.Namespace, "name": "api"},
	}}
	foreign.SetName("v4." + group)
	if err := c.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	note(t, c, env, v4)

	stop = serveAs(t, env, version) // it looks at them in order, v9 last
	localtest.Eventually(t, "v9 to be removed", func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKey{Name: "v9." + group}, apiService())
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	stop()
	for _, one := range []schema.GroupVersion{version, v3, v4} {
		registered(t, c, one)
	}
}

// watched opens a watch of Notes in a version.
func watched(t *testing.T, c client.WithWatch, version schema.GroupVersion) (seen watch.Interface) {
	t.Helper()
	notes := &unstructured.UnstructuredList{}
	notes.SetGroupVersionKind(version.WithKind("NoteList"))
	localtest.Eventually(t, "a watch", func(context.Context) (err error) {
		seen, err = c.Watch(t.Context(), notes)
		return err
	})
	t.Cleanup(seen.Stop)
	return seen
}

func apiService() *unstructured.Unstructured {
	empty := &unstructured.Unstructured{}
	empty.SetAPIVersion("apiregistration.k8s.io/v1")
	empty.SetKind("APIService")
	return empty
}

// registered waits for the APIService of a version.
func registered(t *testing.T, c client.Client, of schema.GroupVersion) *unstructured.Unstructured {
	t.Helper()
	live := apiService()
	localtest.Eventually(t, of.Version+" to be registered", func(ctx context.Context) error {
		return c.Get(ctx, client.ObjectKey{Name: of.Version + "." + of.Group}, live)
	})
	return live
}

// note adds a version to what the operator's record says of it.
func note(t *testing.T, c client.Client, env *localtest.Env, version schema.GroupVersion) {
	t.Helper()
	var all coordinationv1.LeaseList
	if err := c.List(t.Context(), &all, client.InNamespace(env.Namespace)); err != nil {
		t.Fatal(err)
	}
	const line = "APIService.apiregistration.k8s.io="
	for _, lease := range all.Items {
		for key, value := range lease.Annotations {
			if before := lease.DeepCopy(); key == "operon.dev/composed-kinds" {
				lease.Annotations[key] = value + "\n" + line + version.Version + "." + version.Group
				if err := c.Patch(t.Context(), &lease, client.MergeFrom(before)); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	t.Fatalf("there is no record among %v", all.Items)
}

// serveAs runs an operator that serves versions until the test ends or it is stopped, which interrupts no request.
func serveAs(t *testing.T, env *localtest.Env, versions ...schema.GroupVersion) (stop func()) {
	t.Helper()
	address := testaid.FreeAddress(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	told, how := boxtest.Logged(slog.LevelError)
	go func() {
		ended <- operon.Run(ctx, "api-operator", env.Config, operon.Config{
			LeaderElectionNamespace: env.Namespace,
			Log:                     how.Log,
			Webhooks:                operon.Webhooks{BindAddress: address, Service: "api", Namespace: env.Namespace, ServicePort: int32(netip.MustParseAddrPort(address).Port())},
		}, served(versions...))
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if all := told.All(); strings.Contains(all, "interrupted") {
			t.Error(all)
		}
	})
	t.Cleanup(stop)
	return stop
}

// served serves a kind in each version: Days in v1, Greetings in v3, Notes in v9.
func served(versions ...schema.GroupVersion) operon.Option {
	types := map[string][]runtime.Object{"v1": {&Day{}, &DayList{}}, "v9": {&Note{}, &NoteList{}}, "v3": {&Greeting{}}}
	kinds := map[string]aggregated.Served{
		"v1": aggregated.Kind(days{}, aggregated.Resource[*Day]{ClusterScoped: true}),
		"v9": aggregated.Kind(&notes{}, aggregated.Resource[*Note]{}),
		"v3": aggregated.Review(greeter{}, aggregated.Resource[*Greeting]{ClusterScoped: true}),
	}
	var all []aggregated.Served
	for _, one := range versions {
		all = append(all, kinds[one.Version])
	}
	return aggregated.Serve(func(scheme *runtime.Scheme) error {
		for _, one := range versions {
			scheme.AddKnownTypes(one, types[one.Version]...)
			metav1.AddToGroupVersion(scheme, one)
		}
		return nil
	}, all...)
}
