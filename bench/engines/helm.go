package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	ri "helm.sh/helm/v4/pkg/release"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// measureHelm measures the installation of releases, and steady ones.
func measureHelm(ctx context.Context, w *world) (*measurement, error) {
	m := &measurement{}
	if err := errors.Join(w.start(ctx), w.settle(ctx)); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := w.fill(ctx, 0, w.objects); err != nil {
		return nil, err
	}
	err := w.until(ctx, func() (int, error) {
		var list appsv1.DeploymentList
		if err := w.Client.List(ctx, &list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return 0, err
		}
		available := 0
		for _, one := range list.Items {
			available += int(min(one.Status.AvailableReplicas, 1))
		}
		return available, nil
	}, w.objects)
	if err != nil {
		return nil, err
	}
	m.ready = time.Since(began)
	if m.readyCPU, err = treeCPU(w.process.Process.Pid); err != nil {
		return nil, err
	}
	if err := errors.Join(w.await(ctx, "Deployed", w.objects), w.settle(ctx)); err != nil {
		return nil, err
	}
	return m, m.rest(ctx, w)
}

// releases is an operator that does what the classic Helm operator does.
type releases struct {
	client.Client
	settings
	manager ctrl.Manager
	getter  *genericclioptions.ConfigFlags
}

// runHelm runs the peer of the Helm engine.
func runHelm(ctx context.Context, s settings) error {
	m, err := newManager(s)
	if err != nil {
		return err
	}
	cache, err := os.MkdirTemp("", "operon-bench-discovery-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	getter, namespace := genericclioptions.NewConfigFlags(true), metav1.NamespaceDefault
	getter.KubeConfig, getter.Namespace, getter.CacheDir = &s.kubeconfig, &namespace, &cache
	getter.WrapConfigFn = func(config *rest.Config) *rest.Config { return peerConfig(config) }
	r := &releases{m.GetClient(), s, m, getter}
	if err := ctrl.NewControllerManagedBy(m).For(newObject(0)).Complete(r); err != nil {
		return err
	}
	return m.Start(ctx)
}

// Reconcile implements reconcile.Reconciler.
func (r *releases) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := newObject(0)
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	manifest, err := r.reconcile(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.watch(ctx, manifest); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: timing.helmPeriod}, reportCondition(ctx, r.Client, object, "Deployed")
}

// reconcile installs or upgrades the release of an object, or reads all its objects.
func (r *releases) reconcile(ctx context.Context, object *unstructured.Unstructured) (string, error) {
	chart, err := loader.Load(filepath.Join(r.files, "helm-charts", "stand"))
	if err != nil {
		return "", err
	}
	values, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return "", err
	}
	config := action.NewConfiguration()
	if err := config.Init(r.getter, object.GetNamespace(), "secret"); err != nil {
		return "", err
	}
	deployed, err := config.Releases.Deployed(object.GetName())
	if errors.Is(err, driver.ErrReleaseNotFound) || errors.Is(err, driver.ErrNoDeployedReleases) {
		install := action.NewInstall(config)
		install.ReleaseName, install.Namespace, install.WaitStrategy = object.GetName(), object.GetNamespace(), kube.HookOnlyStrategy
		made, err := install.RunWithContext(ctx, chart, values)
		return manifestOf(made, err)
	}
	current, err := manifestOf(deployed, err)
	if err != nil {
		return "", err
	}
	dry := r.upgrade(config, object)
	dry.DryRunStrategy = action.DryRunServer
	candidate, err := manifestOf(dry.RunWithContext(ctx, object.GetName(), chart, values))
	if err != nil {
		return "", err
	}
	if candidate != current {
		return manifestOf(r.upgrade(config, object).RunWithContext(ctx, object.GetName(), chart, values))
	}
	return current, readAll(config, current)
}

func (r *releases) upgrade(config *action.Configuration, object *unstructured.Unstructured) *action.Upgrade {
	u := action.NewUpgrade(config)
	u.Namespace, u.WaitStrategy = object.GetNamespace(), kube.HookOnlyStrategy
	return u
}

func manifestOf(made ri.Releaser, err error) (string, error) {
	if err != nil {
		return "", err
	}
	found, ok := made.(*release.Release)
	if !ok {
		return "", fmt.Errorf("the release is a %T", made)
	}
	return found.Manifest, nil
}

// readAll reads each object of a release, as the repair of drift does.
func readAll(config *action.Configuration, manifest string) error {
	list, err := config.KubeClient.Build(bytes.NewBufferString(manifest), false)
	if err != nil {
		return err
	}
	return list.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		_, err = resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
		return err
	})
}

// watch caches all objects of the kinds in a release.
func (r *releases) watch(ctx context.Context, manifest string) error {
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "Service"}, {Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "Secret"},
	} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		if _, err := r.manager.GetCache().GetInformer(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// peerConfig removes the rate limit, and names the client.
func peerConfig(config *rest.Config) *rest.Config {
	config.QPS, config.UserAgent = -1, "engine-peer"
	return config
}

func newManager(s settings) (ctrl.Manager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, err
	}
	return ctrl.NewManager(peerConfig(config), ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
}

// changedGeneration selects changes of the spec.
var changedGeneration = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() }}

// reportCondition writes a condition, unless it is written already.
func reportCondition(ctx context.Context, c client.Client, object *unstructured.Unstructured, condition string) error {
	if isTrue(object, condition) {
		return nil
	}
	before := object.DeepCopy()
	conditions := []any{map[string]any{
		"type": condition, "status": "True", "reason": condition, "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		"observedGeneration": object.GetGeneration(),
	}}
	if err := unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions"); err != nil {
		return err
	}
	return c.Status().Patch(ctx, object, client.MergeFrom(before))
}
