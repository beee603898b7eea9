package supervisor

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubetypes "k8s.io/kubelet/pkg/types"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// runKubelet performs the steps of the kubelet command, with settings instead of flags.
func runKubelet(ctx context.Context, dir settings.Dir, s settings.Settings) error {
	flags := options.NewKubeletFlags()
	flags.KubeConfig = dir.Kubeconfig(settings.Kubelet)
	flags.RootDirectory = dir.KubeletRoot()
	flags.CertDirectory = dir.File("kubelet/pki")
	flags.HostnameOverride = settings.Name
	flags.NodeIP = settings.Address.String()
	config, err := options.NewKubeletConfiguration()
	if err != nil {
		return err
	}
	configure(config, dir, s)
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(s.FeatureGates); err != nil {
		return err
	}
	logs.InitLogs()
	if err := logsv1.ValidateAndApply(&config.Logging, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	kubelet := &options.KubeletServer{KubeletFlags: *flags, KubeletConfiguration: *config}
	if err := options.ValidateKubeletServer(kubelet); err != nil {
		return err
	}
	dependencies, err := app.UnsecuredDependencies(ctx, kubelet, utilfeature.DefaultFeatureGate)
	if err != nil {
		return err
	}
	err = app.Run(ctx, kubelet, dependencies, utilfeature.DefaultFeatureGate)
	if err != nil || ctx.Err() == nil {
		return err
	}
	return stopContainers(context.WithoutCancel(ctx), dependencies.RemoteRuntimeService, dependencies.KubeClient)
}

// stopContainers sends the containers of pods that are always restarted their stop signal, and kills the ones that do not end in time. The
// kubelet must have ended: otherwise, it would start them again. Other pods would count as completed if their containers exit with 0.
func stopContainers(ctx context.Context, runtime internalapi.RuntimeService, client kubernetes.Interface) error {
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + settings.Name})
	if err != nil {
		return fmt.Errorf("list the pods whose containers have to be stopped: %w", err)
	}
	restarted := map[string]bool{}
	for i := range pods.Items {
		restarted[string(pods.Items[i].UID)] = pods.Items[i].Spec.RestartPolicy == corev1.RestartPolicyAlways
	}
	running := runtimev1.ContainerStateValue{State: runtimev1.ContainerState_CONTAINER_RUNNING}
	found, err := runtime.ListContainers(ctx, &runtimev1.ContainerFilter{State: &running})
	if err != nil {
		return fmt.Errorf("list the containers that have to be stopped: %w", err)
	}
	var group errgroup.Group
	for _, container := range found {
		if !restarted[container.Labels[kubetypes.KubernetesPodUIDLabel]] {
			continue
		}
		group.Go(func() error {
			return runtime.StopContainer(ctx, container.Id, int64(timing.stopGrace.Seconds()))
		})
	}
	return group.Wait()
}

// maxPodProcesses prevents a fork bomb from using up the processes of other pods.
const maxPodProcesses = 4096

func configure(c *kubeletconfig.KubeletConfiguration, dir settings.Dir, s settings.Settings) {
	c.Address = settings.Address.String()
	c.Port = settings.KubeletPort
	c.HealthzPort = 0
	c.TLSCertFile, c.TLSPrivateKeyFile = dir.ServingCert(), dir.ServingKey()
	c.Authentication.X509.ClientCAFile = dir.Authority()
	c.Authentication.Anonymous.Enabled = false
	// The defaults would allow each pod to read the specs of all pods, and each user with a certificate to run commands in them.
	c.ReadOnlyPort = 0
	c.Authentication.Webhook.Enabled = true
	c.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeWebhook

	c.ContainerRuntimeEndpoint = "unix://" + dir.Socket()
	c.ImageServiceEndpoint = c.ContainerRuntimeEndpoint
	c.ClusterDomain = settings.Domain
	c.ClusterDNS = []string{settings.DNS.String()}
	c.ResolverConfig = dir.File("resolv.conf")
	c.PodLogsDir = dir.File("logs")
	c.VolumePluginDir = dir.File("volume-plugins")
	c.FeatureGates = s.FeatureGates

	// The node's own processes belong to the cluster, and the memory of the machine is shared with everything else on it.
	c.CgroupDriver = "cgroupfs"
	c.FailCgroupV1 = false
	c.FailSwapOn = false
	c.EnforceNodeAllocatable = nil
	c.PodPidsLimit = maxPodProcesses
	c.SeccompDefault = true
	c.MakeIPTablesUtilChains = false
	c.EvictionHard = map[string]string{"memory.available": "50Mi"}
	// The disk of the machine is shared, too. If it were full, a kubelet would remove images, which were loaded manually and would
	// not be restored, then evict pods, and accept no pods for five minutes.
	c.ImageGCHighThresholdPercent = 100
	// An image that is loaded, and pulled under another name, is one image: a kubelet that verifies who may use pulled images would
	// contact a registry for the loaded one.
	c.ImagePullCredentialsVerificationPolicy = string(kubeletconfig.NeverVerify)

	// There is one node with its own API server, so the rate limits are high.
	c.MaxPods = 500
	c.KubeAPIQPS, c.KubeAPIBurst = 500, 1000
	c.EventRecordQPS, c.EventBurst = 500, 1000
	c.SerializeImagePulls = false
	c.RegistryPullQPS = 0
	c.SyncFrequency = metav1.Duration{Duration: 10 * time.Second}
}
