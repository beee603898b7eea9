package helm

import (
	"errors"
	"fmt"

	"helm.sh/helm/v4/pkg/chart/common"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
)

// Engine runs the entries of watches.yaml that have the field chart.
type Engine struct {
	// HideOverrides keeps the values of overrideValues out of events.
	HideOverrides bool
}

// Name implements engine.Engine: it is helm.
func (Engine) Name() string { return "helm" }

// Fields implements engine.Engine. dryRunOption has no effect: lookup always reads the cluster.
func (Engine) Fields() engine.Fields {
	return engine.Fields{Selecting: []string{"chart"}, Others: []string{"overrideValues", "valuesFrom", "lookup", "storage", "maxHistory", "dryRunOption"}}
}

// Load implements engine.Engine. It loads the chart, which is kept in memory.
func (e Engine) Load(w *engine.Watch) (engine.Program, error) {
	path, err := w.Path("chart")
	if err != nil {
		return engine.Program{}, err
	}
	loaded, err := Load(path)
	if err != nil {
		return engine.Program{}, w.Errorf("chart", "%w", err)
	}
	c := &composer{chart: loaded, watch: w, cluster: &cluster{}, passes: map[types.UID]*pass{}, hideOverrides: e.HideOverrides}
	var errs [4]error
	c.overrides, errs[0] = readOverrides(w)
	c.sources, errs[1] = readSources(w)
	c.reach, errs[2] = readReach(w)
	c.storage, errs[3] = readStorage(w)
	if err := errors.Join(errs[:]...); err != nil {
		return engine.Program{}, err
	}
	return engine.Program{
		Composer: c.withHooks(),
		Options:  []operon.ManageOption{operon.RetireFinalizers(retired...)},
		Setup:    operon.Setup(c.cluster.learn),
		Files:    loaded.paths(path),
		Image:    engine.Image{Dir: "/opt/helm"},
	}, nil
}

// withHooks returns the composer with the methods that the hooks of the chart need.
func (c *composer) withHooks() operon.Composer[*engine.Object] {
	switch {
	case c.chart.deleteHooks:
		return &deleting{&hooked{c}}
	case c.chart.hooks:
		return &hooked{c}
	}
	return c
}

// learn reads the information that charts can use: the version of the cluster, and the kinds that it serves at the start.
func (c *cluster) learn(manager ctrl.Manager) error {
	c.mapper = manager.GetRESTMapper()
	server, err := discovery.NewDiscoveryClientForConfigAndClient(manager.GetConfig(), manager.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("read the kinds of the cluster: %w", err)
	}
	version, err := server.ServerVersion()
	if err != nil {
		return fmt.Errorf("read the version of the cluster: %w", err)
	}
	kube, err := common.ParseKubeVersion(version.GitVersion)
	if err != nil {
		return fmt.Errorf("read the version of the cluster: %w", err)
	}
	_, resources, err := server.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // an unavailable aggregated API is left out
		return fmt.Errorf("read the kinds of the cluster: %w", err)
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion, capabilities.APIVersions = *kube, nil
	for _, list := range resources {
		capabilities.APIVersions = append(capabilities.APIVersions, list.GroupVersion)
		for _, resource := range list.APIResources {
			capabilities.APIVersions = append(capabilities.APIVersions, list.GroupVersion+"/"+resource.Kind)
		}
	}
	c.capabilities = capabilities
	return nil
}
