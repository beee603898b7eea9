package supervisor

import (
	"testing"

	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

func TestPodsAreLimited(t *testing.T) {
	t.Parallel()
	config := &kubeletconfig.KubeletConfiguration{}
	configure(config, settings.Dir(""), settings.Settings{})
	if config.PodPidsLimit != maxPodProcesses || !config.SeccompDefault {
		t.Errorf("a pod may have %d processes, and seccomp is on: %v", config.PodPidsLimit, config.SeccompDefault)
	}
}
