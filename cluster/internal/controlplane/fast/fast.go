package fast

import (
	"slices"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// Acceleration is one thing that is done in another way than the components do it by themselves, to the same end.
type Acceleration struct {
	// Name of the acceleration, in lower case with hyphens.
	Name string
	// Gain states what the acceleration saves. Figures of the start are the difference of two medians of BenchmarkStart.
	Gain string

	apply func(*start)
}

// start is what accelerations apply to: one start of a control plane.
type start struct {
	cfg         controlplane.Config
	extensions  []controlplane.Extension
	controllers controllers
}

func (s *start) extend(e controlplane.Extension) { s.extensions = append(s.extensions, e) }

// All lists the accelerations.
func All() []Acceleration {
	return []Acceleration{
		{"etcd-election", "a start takes 0.3 s less: the election that etcd holds with itself is over after 50 ms", quickElection},
		{"etcd-buffers", "less memory: 8 instead of 64 KiB of buffers on each side of a connection to etcd; what that adds up to was not measured alone", smallBuffers},
		{"bootstrap-objects", "a start takes 1.4 s less: the RBAC policy, priority classes and namespaces are written to an empty etcd directly", seedBootstrap},
		{"openapi-on-demand", "a start takes 0.7 s and 45 MB less (docs/decisions/0021); the documents are built when a user first asks for them", deferOpenAPI},
		{"certificate-cache", "18 % of the processor time under many small requests; no difference at the start", cacheCertificates},
		{"certificate-files", "a cluster takes 5 inotify instances instead of 11, of which a user has 128; no difference at the start", ignoreFileChanges},
		{"controller-pace", "volumes are bound, lost nodes noticed and pods scaled sooner: every 1, 1 and 5 s instead of 15, 5 and 15; not measured", quickenControllers},
		{"garbage-collection", "the garbage collector watches a new kind after 0.15 to 0.28 s instead of up to 30 s (docs/decisions/0075)", func(s *start) { s.controllers.replace(names.GarbageCollectorController, newGarbage) }},
		{"namespace-deletion", "the deletion of a namespace takes 5 s less: kube-controller-manager waits that long before it begins", deleteNamespacesAtOnce},
	}
}

// Extensions applies the accelerations to a control plane that starts with cfg, but for those whose names are in except.
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
