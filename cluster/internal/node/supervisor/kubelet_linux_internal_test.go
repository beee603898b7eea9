package supervisor

import (
	"testing"

	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// The kubelet asks the API server who a client is, and what it may do.
func TestKubeletIsGuarded(t *testing.T) {
	t.Parallel()
	config, err := options.NewKubeletConfiguration()
	if err != nil {
		t.Fatal(err)
	}
	configure(config, settings.Dir(""), settings.Settings{})
	if config.ReadOnlyPort != 0 || config.Authorization.Mode != kubeletconfig.KubeletAuthorizationModeWebhook || !config.Authentication.Webhook.Enabled || config.Authentication.Anonymous.Enabled {
		t.Errorf("port without authentication: %d, authorization %s, authentication %+v", config.ReadOnlyPort, config.Authorization.Mode, config.Authentication)
	}
}

func TestPodsAreLimited(t *testing.T) {
	t.Parallel()
	config := &kubeletconfig.KubeletConfiguration{}
	configure(config, settings.Dir(""), settings.Settings{})
	if config.PodPidsLimit != maxPodProcesses || !config.SeccompDefault {
		t.Errorf("a pod may have %d processes, and seccomp is on: %v", config.PodPidsLimit, config.SeccompDefault)
	}
}
