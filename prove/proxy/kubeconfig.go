package proxy

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// address is the proxy's URL.
func (p *Proxy) address() string { return "https://" + p.listener.Addr().String() }

// Config returns a connection to the proxy, with the token that stands for the operator.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{
		Host:            p.address(),
		BearerToken:     p.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.pair.authority},
	}
}

// Kubeconfig returns a kubeconfig that leads through the proxy, whose context has the
// namespace, or none where that is empty. It is worth the operator's rights: keep it as secret as
// the operator's own.
func (p *Proxy) Kubeconfig(namespace string) ([]byte, error) {
	const name = "operon-prove"
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: p.address(), CertificateAuthorityData: p.pair.authority},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: p.token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: namespace}},
		CurrentContext: name,
	})
}
