package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/bundlerun"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm/change"
	"github.com/operon-framework/operon/local/localtest"

	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// opened returns the bundle of a version of memcached.
func (w *world) opened(csv string) *bundle.Bundle {
	w.Helper()
	dir := w.TempDir()
	for name, content := range w.files(csv) {
		if strings.HasSuffix(name, "annotations.yaml") {
			content += "  operators.operatorframework.io.bundle.channels.v1: stable\n"
		}
		path := filepath.Join(dir, name)
		w.Must(os.MkdirAll(filepath.Dir(path), 0o700))
		w.Must(os.WriteFile(path, []byte(content), 0o600))
	}
	all, err := bundle.Open(dir)
	w.Must(err)
	return all[0]
}

// A bundle in a directory is installed, upgraded to the next version, and removed with everything that was created for it.
func TestBundleRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	connection, err := kube.New(w.Config, bundlerun.Manager)
	w.Must(err)
	how := bundlerun.Options{Bundle: w.opened(memcached), Client: connection, Namespace: w.Namespace, Mode: "OwnNamespace", Timeout: localtest.Patience, Tell: func(string) {}}
	run := func(want string) {
		t.Helper()
		made, err := bundlerun.Run(t.Context(), how)
		w.Must(err)
		if made.CSV != want || made.Package != "memcached" || made.Subscription != "memcached" {
			t.Errorf("it has run %+v, want %s", made, want)
		}
		w.AwaitPhase(want, v1alpha1.PhaseSucceeded, "")
	}
	refused := func(want string) {
		t.Helper()
		if _, err := bundlerun.Run(t.Context(), how); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	how.Bundle.Channels = nil
	refused(first + " names no channels")
	how.Bundle.Channels = []string{"candidate"}
	run(first)
	config := &corev1.ConfigMap{ObjectMeta: w.Named("memcached-config")} // an object of the bundle that is neither a CSV nor a CRD
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(config), config))
	refused("the namespace " + w.Namespace + " has the OperatorGroup memcached, which says where its operators work")
	how.Mode = ""
	run(first)
	how.Bundle = w.opened(strings.Replace(memcached, "resources: [pods]", "resources: [pods, nodes]", 1))
	refused(first + " was run with other content: give it another version, or remove the operator first, with `operon olm remove memcached -n " + w.Namespace + "`")
	how.Bundle = w.opened(strings.Replace(version("0.0.2", "0.0.1"), "replaces: memcached-operator.v0.0.1", "", 1)) // replaces what was run before, although it names another channel
	run(second)

	all, err := change.Plan(t.Context(), connection, w.Namespace, "memcached", false)
	w.Must(err)
	want := []string{
		"CatalogSource " + w.Namespace + "/bundle-memcached", "ClusterServiceVersion " + w.Namespace + "/" + second, "ConfigMap " + w.Namespace + "/bundle-memcached",
		"OperatorGroup " + w.Namespace + "/memcached", "Subscription " + w.Namespace + "/memcached",
	}
	if got := slices.Sorted(slices.Values(all.Removed)); !slices.Equal(got, want) {
		t.Errorf("removed are %q, want %q", got, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
	defer cancel()
	w.Must(all.Run(ctx, connection, func(string) {}))
	for _, one := range []client.Object{
		&v1alpha1.CatalogSource{ObjectMeta: w.Named("bundle-memcached")}, &corev1.ConfigMap{ObjectMeta: w.Named("bundle-memcached")}, &v1.OperatorGroup{ObjectMeta: w.Named("memcached")},
	} {
		w.AwaitGone(one)
	}
}

// A bundle is refused before anything is written if the operator comes from elsewhere, or if the namespace does not exist.
func TestBundleRunIsRefused(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	connection, err := kube.New(w.Config, bundlerun.Manager)
	w.Must(err)
	sub := w.subscribe("shop")
	sub.Spec.InstallPlanApproval = v1alpha1.Manual
	w.Add(w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n"), sub)
	how := bundlerun.Options{Bundle: w.opened(memcached), Client: connection, Namespace: w.Namespace, Timeout: localtest.Patience, Tell: func(string) {}}
	for want, edit := range map[string]func(*bundlerun.Options){
		"the Subscription " + w.Namespace + "/memcached installs the package memcached from the catalog shop: remove it first": func(*bundlerun.Options) {},
		"the namespace nowhere does not exist: kubectl create namespace nowhere":                                               func(o *bundlerun.Options) { o.Namespace = "nowhere" },
	} {
		changed := how
		edit(&changed)
		if _, err := bundlerun.Run(t.Context(), changed); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "bundle-memcached"}, &corev1.ConfigMap{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a ConfigMap was written, error %v", err)
	}
}
