package supervisor

import (
	"context"
	"encoding/json"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-proxy/app"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// runProxy performs the steps of the kube-proxy command.
func runProxy(ctx context.Context, dir settings.Dir, s settings.Settings) error {
	data, err := json.Marshal(proxyConfig(dir, s))
	if err != nil {
		return err
	}
	file := dir.File("kube-proxy.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	o := app.NewOptions()
	flags := pflag.NewFlagSet("kube-proxy", pflag.ContinueOnError)
	o.AddFlags(flags)
	if err := flags.Parse([]string{"--config", file}); err != nil {
		return err
	}
	if err := o.Complete(flags); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	return o.Run(ctx)
}

func proxyConfig(dir settings.Dir, s settings.Settings) map[string]any {
	soon := map[string]any{"masqueradeAll": masquerade(), "minSyncPeriod": "10ms", "syncPeriod": "30s"}
	return map[string]any{
		"apiVersion":       "kubeproxy.config.k8s.io/v1alpha1",
		"kind":             "KubeProxyConfiguration",
		"clientConnection": map[string]any{"kubeconfig": dir.Kubeconfig(settings.Proxy)},
		"hostnameOverride": settings.Name,
		"mode":             s.ProxyMode,
		"clusterCIDR":      settings.Pods.String(),
		"detectLocalMode":  "ClusterCIDR",
		"iptables":         soon,
		"nftables":         soon,
		// The kernel's connection tracking belongs to the machine and is not changed.
		"conntrack":    map[string]any{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
		"featureGates": s.FeatureGates,
	}
}
