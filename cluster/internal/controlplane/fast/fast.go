package fast

import (
	"slices"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// Acceleration replaces one behavior of the components by a faster or smaller one with the same result.
type Acceleration struct {
	// Name is the name of the acceleration, in lower case with hyphens.
	Name string
	// Gain states what the acceleration saves. Start times are differences of two medians of BenchmarkStart.
	Gain string

	apply func(*start)
}

// start is one start of a control plane, to which accelerations apply.
type start struct {
	cfg         controlplane.Config
	extensions  []controlplane.Extension
	controllers controllers
}

func (s *start) extend(e controlplane.Extension) { s.extensions = append(s.extensions, e) }

// All returns all accelerations.
func All() []Acceleration {
	return []Acceleration{
		{"etcd-election", "startup takes 0.3 s less: etcd elects itself leader within 50 ms", quickElection},
		{"etcd-buffers", "less memory: 8 instead of 64 KiB of buffers on each side of a connection to etcd; the total effect was not measured separately", smallBuffers},
		{"bootstrap-objects", "startup takes 1.4 s less: the RBAC policy, priority classes and namespaces are written directly to an empty etcd", seedBootstrap},
		{"openapi-on-demand", "startup takes 0.7 s and 45 MB less: OpenAPI documents are built on the first request for them", deferOpenAPI},
		{"certificate-cache", "18% less CPU time under many small requests; no effect on startup", cacheCertificates},
		{"certificate-files", "a cluster uses 5 inotify instances instead of 11 (a user may have 128); no effect on startup", ignoreFileChanges},
		{"controller-pace", "volumes are bound, lost nodes noticed and pods scaled sooner: checked every 1, 1 and 5 s instead of every 15, 5 and 15 s; not measured", quickenControllers},
		{"garbage-collection", "the garbage collector starts to watch a new kind within 0.15 to 0.28 s instead of up to 30 s", func(s *start) { s.controllers.replace(names.GarbageCollectorController, newGarbage) }},
		{"namespace-deletion", "deleting a namespace takes 5 s less: kube-controller-manager waits that long before it starts", deleteNamespacesAtOnce},
	}
}

// Extensions applies the accelerations to a control plane that starts with cfg, except the ones that except names.
func Extensions(cfg controlplane.Config, except ...string) []controlplane.Extension {
	s := &start{cfg: cfg}
	for _, a := range All() {
		if !slices.Contains(except, a.Name) {
			a.apply(s)
		}
	}
	if len(s.controllers.built) > 0 {
		s.extend(controlplane.Extension{RunControllers: s.controllers.run})
	}
	return s.extensions
}
