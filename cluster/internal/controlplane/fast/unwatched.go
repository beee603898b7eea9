package fast

import (
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// reloadProxyCertificate is the hook with which the aggregator watches the files of its client certificate.
const reloadProxyCertificate = "aggregator-reload-proxy-client-cert"

// ignoreFileChanges prevents an API server from watching the files of its certificates and certificate authorities, which do
// not change while a cluster runs. Each watch would need an inotify instance. By default, all clusters of a user together have
// 128 of them. The files were read when the options were applied.
func ignoreFileChanges(s *start) { s.extend(controlplane.Extension{APIServer: unwatch}) }

func unwatch(config *app.Config) {
	serving := config.Aggregator.GenericConfig.SecureServing
	serving.Cert, serving.ClientCA = certificate{serving.Cert}, authority{serving.ClientCA}
	trusted := &config.KubeAPIs.ControlPlane.ClusterAuthenticationInfo
	trusted.ClientCA, trusted.RequestHeaderCA = authority{trusted.ClientCA}, authority{trusted.RequestHeaderCA}
	config.Aggregator.GenericConfig.DisabledPostStartHooks.Insert(reloadProxyCertificate)
}

// certificate provides a certificate and runs no controller.
type certificate struct {
	dynamiccertificates.CertKeyContentProvider
}

// authority provides a certificate authority and runs no controller.
type authority struct {
	dynamiccertificates.CAContentProvider
}
