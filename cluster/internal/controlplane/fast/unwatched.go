package fast

import (
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// reloadProxyCertificate is the hook by which the aggregator watches the files that it
// proves with who it is.
const reloadProxyCertificate = "aggregator-reload-proxy-client-cert"

// ignoreFileChanges keeps an API server from watching the files with its certificates and its
// authorities, which do not change while a cluster runs. Each would take an inotify
// instance, of which a user has 128 in all clusters together where nobody raised the limit.
// The files were read when the options were applied.
func ignoreFileChanges(s *start) { s.extend(controlplane.Extension{APIServer: unwatch}) }

func unwatch(config *app.Config) {
	serving := config.Aggregator.GenericConfig.SecureServing
	serving.Cert, serving.ClientCA = certificate{serving.Cert}, authority{serving.ClientCA}
	trusted := &config.KubeAPIs.ControlPlane.ClusterAuthenticationInfo
	trusted.ClientCA, trusted.RequestHeaderCA = authority{trusted.ClientCA}, authority{trusted.RequestHeaderCA}
	config.Aggregator.GenericConfig.DisabledPostStartHooks.Insert(reloadProxyCertificate)
}

// A certificate is one that runs no controller.
type certificate struct {
	dynamiccertificates.CertKeyContentProvider
}

// An authority is one that runs no controller.
type authority struct {
	dynamiccertificates.CAContentProvider
}
