// Command main is the queue operator.
package main

import (
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	jobsv1alpha1 "example.com/web/api/v1alpha1"
	"example.com/web/controllers"
)

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "the queue operator ends")
		os.Exit(1)
	}
}

func run() error {
	var metrics, health string
	var elect bool
	flag.StringVar(&metrics, "metrics-bind-address", ":8080", "where metrics are served")
	flag.StringVar(&health, "health-probe-bind-address", ":8081", "where probes are answered")
	flag.BoolVar(&elect, "leader-elect", false, "elect a leader")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, jobsv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: metrics},
		HealthProbeBindAddress: health, LeaderElection: elect, LeaderElectionID: "queue-operator.layout.test",
	})
	if err != nil {
		return err
	}
	if err := (&controllers.QueueReconciler{Client: manager.GetClient(), Scheme: scheme}).SetupWithManager(manager); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
