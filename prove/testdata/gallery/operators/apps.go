package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// annotations of a pod template that make it another one when something else changes.
const (
	configHash = "gallery.operon.dev/config"
	secretHash = "gallery.operon.dev/secret"
)

// appKinds are those of an App's children.
func appKinds() []client.Object {
	return []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &corev1.ConfigMap{}}
}

// keepConfig keeps the ConfigMap with an App's files.
func keepConfig(ctx context.Context, c client.Client, app *api.App) error {
	config := &corev1.ConfigMap{ObjectMeta: named(app, "")}
	return keep(ctx, c, app, config, func() { config.Data = app.Spec.Config })
}

// keepDeployment keeps an App's Deployment, and returns it as it is now.
func keepDeployment(ctx context.Context, c client.Client, app *api.App) (*appsv1.Deployment, error) {
	secret, err := secretOf(ctx, c, app)
	if err != nil {
		return nil, err
	}
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	return d, keep(ctx, c, app, d, func() { fillDeployment(d, app, secret) })
}

// secretOf is a hash of the Secret that an App names, empty where there is none.
func secretOf(ctx context.Context, c client.Client, app *api.App) (string, error) {
	if app.Spec.SecretName == "" {
		return "", nil
	}
	secret := &corev1.Secret{}
	err := c.Get(ctx, types.NamespacedName{Namespace: app.Namespace, Name: app.Spec.SecretName}, secret)
	if err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return hash(secret.Data), nil
}

// fillDeployment sets what an App says, and leaves what the API server defaults.
func fillDeployment(d *appsv1.Deployment, app *api.App, secret string) {
	d.Spec.Replicas = ptr.To(app.Spec.Replicas)
	if d.Spec.Selector == nil {
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels(app)}
	}
	template := &d.Spec.Template
	template.Labels = with(template.Labels, labels(app))
	template.Annotations = with(template.Annotations, map[string]string{configHash: hash(with(nil, app.Spec.Config)), secretHash: secret})
	if len(template.Spec.Containers) != 1 {
		template.Spec.Containers = make([]corev1.Container, 1)
	}
	fillContainer(&template.Spec.Containers[0], app)
}

func fillContainer(container *corev1.Container, app *api.App) {
	container.Name, container.Image = "app", app.Spec.Image
	container.Env = environment(app)
	container.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
	container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: tierCPU(app.Spec.Tier)}
}

func tierCPU(tier string) resource.Quantity {
	switch tier {
	case "large":
		return resource.MustParse("20m")
	case "medium":
		return resource.MustParse("10m")
	}
	return resource.MustParse("5m")
}

// environment is what the App says, and its memory where that is a quantity.
func environment(app *api.App) []corev1.EnvVar {
	var all []corev1.EnvVar
	for _, e := range app.Spec.Env {
		all = append(all, corev1.EnvVar{Name: e.Name, Value: e.Value})
	}
	if limit, err := resource.ParseQuantity(app.Spec.Memory); err == nil {
		all = append(all, corev1.EnvVar{Name: "GOMEMLIMIT", Value: limit.String()})
	}
	return all
}

// keepService keeps an App's Service, or removes it where none is asked for.
func keepService(ctx context.Context, c client.Client, app *api.App) error {
	service := &corev1.Service{ObjectMeta: named(app, "")}
	if app.Spec.Service == nil {
		return drop(ctx, c, app, service)
	}
	return keep(ctx, c, app, service, func() { fillService(service, app) })
}

// hashedConfig is the ConfigMap with an App's files under a name that follows from them.
func hashedConfig(app *api.App) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: named(app, "-"+hash(with(nil, app.Spec.Config)))}
}

// announcementOf is the metadata of an App's ConfigMap in another namespace.
func announcementOf(app *api.App) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "announced-" + app.Namespace + "-" + app.Name}
}

// announce keeps that ConfigMap. It is not in a cache of one namespace, so it is read from the API
// server.
func announce(ctx context.Context, c client.Client, live client.Reader, app *api.App) error {
	announcement := &corev1.ConfigMap{ObjectMeta: announcementOf(app)}
	err := live.Get(ctx, client.ObjectKeyFromObject(announcement), announcement)
	if apierrors.IsNotFound(err) {
		announcement.Data = map[string]string{"image": app.Spec.Image}
		return c.Create(ctx, announcement)
	}
	if err != nil || announcement.Data["image"] == app.Spec.Image {
		return err
	}
	announcement.Data = map[string]string{"image": app.Spec.Image}
	return c.Update(ctx, announcement)
}

func fillService(service *corev1.Service, app *api.App) {
	service.Spec.Selector = labels(app)
	if len(service.Spec.Ports) != 1 {
		service.Spec.Ports = make([]corev1.ServicePort, 1)
	}
	port := &service.Spec.Ports[0]
	port.Name, port.Port, port.Protocol, port.TargetPort = "http", app.Spec.Service.Port, corev1.ProtocolTCP, intstr.FromInt32(8080)
	if app.Spec.Service.Sticky {
		service.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		return
	}
	service.Spec.SessionAffinity, service.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
}

// finishApp keeps the Service and reports, which is what most end with.
func finishApp(ctx context.Context, c client.Client, app *api.App, d *appsv1.Deployment) (ctrl.Result, error) {
	if err := keepService(ctx, c, app); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportApp(ctx, c, app, d)
}

// reportApp writes an App's status, where it is not that already.
func reportApp(ctx context.Context, c client.Client, app *api.App, d *appsv1.Deployment) error {
	before := app.Status.DeepCopy()
	app.Status.ObservedGeneration = app.Generation
	app.Status.ReadyReplicas = d.Status.ReadyReplicas
	meta.SetStatusCondition(&app.Status.Conditions, readiness(app, deployed(d), "Deployed"))
	meta.SetStatusCondition(&app.Status.Conditions, accepted(app))
	if equality.Semantic.DeepEqual(*before, app.Status) {
		return nil
	}
	return c.Status().Update(ctx, app)
}

// deployed tells that all pods of a Deployment are of its newest template, and ready.
func deployed(d *appsv1.Deployment) bool {
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	return d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == wanted &&
		d.Status.UpdatedReplicas == wanted && d.Status.AvailableReplicas == wanted
}

// readiness is the condition Ready.
func readiness(of client.Object, ready bool, reason string) metav1.Condition {
	condition := metav1.Condition{Type: api.Ready, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: of.GetGeneration()}
	if !ready {
		condition.Status, condition.Reason = metav1.ConditionFalse, "NotYet"
	}
	return condition
}

// accepted is the condition that tells of a value that is none.
func accepted(app *api.App) metav1.Condition {
	condition := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Valid", ObservedGeneration: app.Generation}
	if _, err := resource.ParseQuantity(app.Spec.Memory); err != nil && app.Spec.Memory != "" {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "InvalidMemory", "spec.memory is no quantity"
	}
	return condition
}

// appsOf finds the Apps that name a Secret.
func appsOf(c client.Client) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, secret client.Object) []reconcile.Request {
		list := &api.AppList{}
		if err := c.List(ctx, list, client.InNamespace(secret.GetNamespace())); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for _, app := range list.Items {
			if app.Spec.SecretName == secret.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&app)})
			}
		}
		return requests
	})
}
