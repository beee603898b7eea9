package fast

import (
	"context"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// latePlugin is the name of late as an admission plugin.
const latePlugin = "NamespaceOutlivesAdmission"

// late rejects new objects whose namespace is deleted while webhooks review them: NamespaceLifecycle checks the namespace before
// it calls webhooks. Upstream, webhooks have five seconds until the contents of the namespace are deleted. Usually, late only
// reads the namespace from the API server's cache.
type late struct{ lifecycle *lifecycle.Lifecycle }

var (
	_ initializer.WantsExternalKubeInformerFactory = late{}
	_ initializer.WantsExternalKubeClientSet       = late{}
	_ admission.ValidationInterface                = late{}
)

// rejectLate makes the API server call late as the last plugin, unless a user has disabled NamespaceLifecycle.
func rejectLate(options *genericoptions.AdmissionOptions) {
	if slices.Contains(options.DisablePlugins, lifecycle.PluginName) {
		return
	}
	options.Plugins.Register(latePlugin, func(io.Reader) (admission.Interface, error) {
		checks, err := lifecycle.NewLifecycle(sets.New[string]())
		return late{checks}, err
	})
	options.RecommendedPluginOrder = append(slices.Clip(options.RecommendedPluginOrder), latePlugin)
}

// Handles includes deletions: the plugin does not trust the cache for namespaces that were deleted a moment ago.
func (l late) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Delete
}

func (l late) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	return l.lifecycle.Admit(ctx, a, o)
}

func (l late) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	l.lifecycle.SetExternalKubeInformerFactory(f)
}

func (l late) SetExternalKubeClientSet(client kubernetes.Interface) {
	l.lifecycle.SetExternalKubeClientSet(client)
}

func (l late) ValidateInitialization() error { return l.lifecycle.ValidateInitialization() }
