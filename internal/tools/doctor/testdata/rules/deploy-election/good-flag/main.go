package main

import (
	"flag"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	var elect bool
	flag.BoolVar(&elect, "elect", true, "Elect a leader.")
	flag.Parse()
	_, _ = ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{LeaderElection: elect})
}
