package controlplane

import (
	"context"
	"fmt"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

func schedulerSettings(kubeconfig string) Settings {
	return Settings{
		"kubeconfig":   kubeconfig,
		"leader-elect": "false", // there is one
		"secure-port":  "0",
	}
}

// runScheduler schedules pods until ctx ends. The API server must already serve requests.
func runScheduler(ctx context.Context, cfg *Config, kubeconfig string, added extensions) error {
	o := options.NewOptions()
	settings := added.settings(schedulerSettings(kubeconfig), func(e Extension) Settings { return e.Scheduler })
	if err := apply("kube-scheduler", *o.Flags, settings, cfg.Scheduler); err != nil {
		return err
	}
	config, scheduler, err := app.Setup(ctx, o)
	if err != nil {
		return fmt.Errorf("kube-scheduler: %w", err)
	}
	if err := app.Run(ctx, config, scheduler); err != nil && ctx.Err() == nil {
		return fmt.Errorf("kube-scheduler: %w", err)
	}
	return nil
}
