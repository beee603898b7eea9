package reset

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/component-base/version"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// origin contains the settings of a cluster that determine the objects that the cluster itself creates at its start.
type origin map[string]string

func newOrigin(cfg controlplane.Config, node string) origin {
	return origin{"node": node, "Kubernetes": version.Get().GitVersion, "runtimeConfig": fmt.Sprint(cfg.RuntimeConfig)}
}

// check returns an error if the first state in a file was recorded with other settings than the current ones. Earlier versions
// of Operon did not record them: then it returns nil.
func (o origin) check(recorded origin, file string) error {
	for _, setting := range slices.Sorted(maps.Keys(recorded)) {
		if then, now := recorded[setting], o[setting]; then != now {
			return fmt.Errorf("the initial state of this data directory was recorded with %s %s, and the cluster now has %s: a reset would delete or revert objects that it needs; "+
				"use another data directory, or stop the cluster and delete %s: the next start records the state that it finds as the initial one", setting, then, now, file)
		}
	}
	return nil
}
