package controlplane

import (
	"context"
	"fmt"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

func schedulerSettings(kubeconfig string) Settings {
	return Settings{
		"kubeconfig":     kubeconfig,
		"leader-elect":   "false", // there is one
		"secure-port":    "0",
		"kube-api-qps":   "2000",
		"kube-api-burst": "4000",
	}
}

// runScheduler schedules pods until ctx ends. The API server has to serve.
func runScheduler(ctx context.Context, cfg *Config, kubeconfig string) error {
	o := options.NewOptions()
	if err := apply("kube-scheduler", *o.Flags, schedulerSettings(kubeconfig), cfg.Scheduler); err != nil {
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
