package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	options := ctrl.Options{}
	options.LeaderElection = os.Getenv("ELECT") != ""
	_, _ = ctrl.NewManager(ctrl.GetConfigOrDie(), options)
}
