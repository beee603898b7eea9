package fast

import (
	"context"
	"errors"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/controller-manager/pkg/healthz"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// constructor builds a controller. It returns nil if the settings disable the controller.
type constructor func(context.Context, app.ControllerContext) (app.Controller, error)

// controllers are the controllers that accelerations replace, by name.
type controllers struct{ built map[string]constructor }

func (r *controllers) replace(name string, build constructor) {
	if r.built == nil {
		r.built = map[string]constructor{}
	}
	r.built[name] = build
}

// run runs every controller until ctx ends. It performs the steps of app.Run with the parts that its package exports, and adds
// the controllers that accelerations replace. If the user's settings make the manager serve metrics or elect a leader, app.Run
// runs the manager without these accelerations.
func (r *controllers) run(ctx context.Context, c *config.CompletedConfig) error {
	if c.SecureServing != nil || c.ComponentConfig.Generic.LeaderElection.LeaderElect {
		return app.Run(ctx, c)
	}
	c.EventBroadcaster.StartStructuredLogging(0)
	c.EventBroadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: c.Client.CoreV1().Events(metav1.NamespaceAll)})
	defer c.EventBroadcaster.Shutdown()

	root, each := clientBuilders(c)
	manager, err := app.CreateControllerContext(ctx, c, root, each)
	if err != nil {
		return err
	}
	controllers, err := r.build(ctx, manager, root)
	if err != nil {
		return err
	}
	manager.InformerFactory.Start(ctx.Done())
	defer manager.InformerFactory.Shutdown()
	manager.ObjectOrMetadataInformerFactory.Start(ctx.Done())
	close(manager.InformersStarted)

	if len(controllers) == 0 {
		<-ctx.Done()
		return nil
	}
	if !app.RunControllers(ctx, manager, controllers, app.ControllerStartJitter, c.ControllerShutdownTimeout) {
		return errors.New("controller shutdown timeout reached")
	}
	return nil
}

// clientBuilders returns two client builders: root acts as the manager itself, each is for the controllers.
func clientBuilders(c *config.CompletedConfig) (root, each clientbuilder.ControllerClientBuilder) {
	root = clientbuilder.SimpleControllerClientBuilder{ClientConfig: c.Kubeconfig}
	if !c.ComponentConfig.KubeCloudShared.UseServiceAccountCredentials {
		return root, root
	}
	anonymous := rest.AnonymousClientConfig(c.Kubeconfig)
	return root, clientbuilder.NewDynamicClientBuilder(anonymous, c.Client.CoreV1(), metav1.NamespaceSystem)
}

// build builds the enabled controllers, including the replaced ones and the one whose constructor is not exported.
func (r *controllers) build(ctx context.Context, manager app.ControllerContext, root clientbuilder.ControllerClientBuilder) ([]app.Controller, error) {
	descriptors := app.NewControllerDescriptors()
	replaced := maps.Clone(r.built)
	replaced[names.ServiceAccountTokenController] = func(ctx context.Context, manager app.ControllerContext) (app.Controller, error) {
		return newTokens(ctx, manager, root)
	}
	var ours []app.Controller
	for name, build := range replaced {
		enabled := manager.IsControllerEnabled(descriptors[name])
		delete(descriptors, name)
		if !enabled {
			continue
		}
		controller, err := build(klog.NewContext(ctx, klog.LoggerWithName(klog.FromContext(ctx), name)), manager)
		if err != nil {
			return nil, err
		}
		if controller != nil {
			ours = append(ours, controller)
		}
	}
	// The health of a manager that does not serve is never queried.
	others, err := app.BuildControllers(ctx, manager, descriptors, nil, healthz.NewMutableHealthzHandler())
	return append(ours, others...), err
}

// loop is a controller that consists of one function.
type loop struct {
	name string
	run  func(context.Context)
}

func (l loop) Name() string            { return l.name }
func (l loop) Run(ctx context.Context) { l.run(ctx) }
