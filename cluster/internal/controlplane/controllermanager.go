package controlplane

import (
	"context"
	"fmt"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// controllerManagerSettings returns the flags that Operon sets. The manager uses its own certificate instead of one
// ServiceAccount for each controller, which saves forty token requests at the start and forty connections.
func controllerManagerSettings(k *keys, kubeconfig string) Settings {
	return Settings{
		"kubeconfig":                       kubeconfig,
		"leader-elect":                     "false", // there is one
		"secure-port":                      "0",
		"root-ca-file":                     k.cert(caFile),
		"cluster-signing-cert-file":        k.cert(caFile),
		"cluster-signing-key-file":         k.key(caFile),
		"service-account-private-key-file": k.tokenKey(),
		"service-cluster-ip-range":         serviceRange,
		// All except the controller that assigns pod ranges to nodes.
		"controllers": "*,-node-ipam-controller",
	}
}

// runControllerManager runs every controller until ctx ends. The API server must already serve requests.
func runControllerManager(ctx context.Context, cfg *Config, k *keys, kubeconfig string, added extensions) error {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	settings := added.settings(controllerManagerSettings(k, kubeconfig), func(e Extension) Settings { return e.ControllerManager })
	if err := apply("kube-controller-manager", o.Flags(known, disabled, aliases), settings, cfg.ControllerManager); err != nil {
		return err
	}
	config, err := o.Config(ctx, known, disabled, aliases)
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	if err := added.runControllers(app.Run)(ctx, config.Complete()); err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	return nil
}
