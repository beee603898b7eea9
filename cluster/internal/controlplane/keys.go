package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/operon-framework/operon/cluster/internal/pki"
)

// keys are the files that the components read, and the parts of them that the process itself needs.
type keys struct {
	dir     string
	ca      *pki.Authority
	proxyCA *pki.Authority
	caCert  []byte
	admin   pki.Pair
	kubelet pki.Pair
}

// Names of the files in the keys directory. The authorities and the token key are created once, the leaf certificates at each
// start.
const (
	caFile       = "ca"
	proxyCAFile  = "front-proxy-ca"
	serverFile   = "apiserver"
	kubeletFile  = "apiserver-kubelet-client"
	proxyFile    = "front-proxy-client"
	tokenKeyFile = "service-account.key"
)

func (k *keys) cert(name string) string { return filepath.Join(k.dir, name+".crt") }
func (k *keys) key(name string) string  { return filepath.Join(k.dir, name+".key") }
func (k *keys) tokenKey() string        { return filepath.Join(k.dir, tokenKeyFile) }

// openKeys reads or creates the authorities in dir, and issues the leaf certificates.
func openKeys(dir string, hosts []string) (*keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	k := &keys{dir: dir}
	if err := k.openAuthorities(); err != nil {
		return nil, err
	}
	if err := k.openTokenKey(); err != nil {
		return nil, err
	}
	if err := k.issueLeaves(hosts); err != nil {
		return nil, err
	}
	return k, nil
}

// openAuthorities opens the authority of all components and clients, and a separate one for the front proxy, which may name any
// user: a CertificateSigningRequest never returns a certificate of the second one.
func (k *keys) openAuthorities() (err error) {
	if k.ca, k.caCert, err = k.openAuthority(caFile, "operon-cluster"); err != nil {
		return err
	}
	k.proxyCA, _, err = k.openAuthority(proxyCAFile, "operon-cluster-front-proxy")
	return err
}

// openAuthority reads or creates an authority.
func (k *keys) openAuthority(file, name string) (*pki.Authority, []byte, error) {
	stored := pki.Pair{}
	var err error
	stored.Cert, err = os.ReadFile(k.cert(file))
	if errors.Is(err, fs.ErrNotExist) {
		return k.newAuthority(file, name)
	}
	if err != nil {
		return nil, nil, err
	}
	if stored.Key, err = os.ReadFile(k.key(file)); err != nil {
		return nil, nil, err
	}
	ca, err := pki.ParseAuthority(stored)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", k.cert(file), err)
	}
	return ca, stored.Cert, nil
}

func (k *keys) newAuthority(file, name string) (*pki.Authority, []byte, error) {
	ca, err := pki.NewAuthority(name)
	if err != nil {
		return nil, nil, err
	}
	pair, err := ca.Pair()
	if err != nil {
		return nil, nil, err
	}
	return ca, pair.Cert, k.write(file, pair)
}

func (k *keys) openTokenKey() error {
	_, err := os.Stat(k.tokenKey())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := pki.NewKey()
	if err != nil {
		return err
	}
	return pki.WriteFile(k.tokenKey(), key)
}

func (k *keys) issueLeaves(hosts []string) error {
	serving := pki.Leaf{CommonName: "kube-apiserver", Hosts: append([]string{
		"127.0.0.1", "localhost", "198.19.0.1",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}, hosts...)}
	server, err := k.ca.Issue(serving)
	if err != nil {
		return err
	}
	proxy, err := k.proxyCA.Issue(pki.Leaf{CommonName: "front-proxy-client"})
	if err != nil {
		return err
	}
	if err := errors.Join(k.write(serverFile, server), k.write(proxyFile, proxy)); err != nil {
		return err
	}
	if k.kubelet, err = k.ca.Issue(pki.Leaf{CommonName: "kube-apiserver-kubelet-client", Organizations: []string{"system:masters"}}); err != nil {
		return err
	}
	if err := k.write(kubeletFile, k.kubelet); err != nil {
		return err
	}
	k.admin, err = k.ca.Issue(pki.Leaf{CommonName: "kubernetes-admin", Organizations: []string{"system:masters"}})
	return err
}

// write writes the certificate last: if it exists, the pair is complete, even if this process was interrupted.
func (k *keys) write(name string, pair pki.Pair) error {
	if err := pki.WriteFile(k.key(name), pair.Key); err != nil {
		return err
	}
	return pki.WriteFile(k.cert(name), pair.Cert)
}

// config returns a client configuration for the identity in pair.
func (k *keys) config(server string, pair pki.Pair) *rest.Config {
	return &rest.Config{
		Host:            server,
		TLSClientConfig: rest.TLSClientConfig{CAData: k.caCert, CertData: pair.Cert, KeyData: pair.Key},
		QPS:             -1, // API Priority and Fairness limits the requests instead
	}
}

// writeKubeconfig writes a kubeconfig for the identity in pair, with mode 0600.
func (k *keys) writeKubeconfig(path, cluster, server string, pair pki.Pair) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: k.caCert}
	config.AuthInfos[cluster] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: cluster}
	config.CurrentContext = cluster
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return pki.WriteFile(path, data)
}
