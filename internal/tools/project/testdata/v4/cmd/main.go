// Command main is the site operator.
package main

import (
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	webv1 "example.com/web/api/v1"
	"example.com/web/internal/controller"
	webhookv1 "example.com/web/internal/webhook/v1"
)

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "the site operator ends")
		os.Exit(1)
	}
}

func run() error {
	var metrics, health string
	var elect, secure bool
	flag.StringVar(&metrics, "metrics-bind-address", "0", "where metrics are served")
	flag.StringVar(&health, "health-probe-bind-address", ":8081", "where probes are answered")
	flag.BoolVar(&elect, "leader-elect", false, "elect a leader")
	flag.BoolVar(&secure, "metrics-secure", true, "serve metrics by HTTPS")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, webv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: metrics, SecureServing: secure},
		HealthProbeBindAddress: health, LeaderElection: elect, LeaderElectionID: "site-operator.layout.test",
	})
	if err != nil {
		return err
	}
	if err := (&controller.SiteReconciler{Client: manager.GetClient(), Scheme: scheme}).SetupWithManager(manager); err != nil {
		return err
	}
	if os.Getenv("ENABLE_WEBHOOKS") != "false" {
		if err := webhookv1.SetupSiteWebhookWithManager(manager); err != nil {
			return err
		}
	}
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
