package proxy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Proxy is a server on the loopback interface through which runs reach the API server with the permissions of the operator. It
// adds owner references to what runs create, and records what they read and write.
type Proxy struct {
	// inject adds owner references.
	inject   bool
	listener net.Listener
	ca       []byte
	tls      *tls.Config
	metrics  *metrics

	server    *url.URL
	transport http.RoundTripper
	// upgrades is for requests that become streams, which HTTP/2 does not support.
	upgrades http.RoundTripper
	mapper   meta.RESTMapper
	parser   *request.RequestInfoFactory

	mu       sync.Mutex
	sessions map[string]*Session
}

// New returns a proxy. With inject, it adds owner references to what runs create.
func New(inject bool) *Proxy {
	return &Proxy{inject: inject, metrics: newMetrics(), sessions: map[string]*Session{}, parser: &request.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}}
}

// Connect prepares the server for the cluster of a manager.
func (p *Proxy) Connect(m ctrl.Manager) error {
	config := m.GetConfig()
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	p.server, p.mapper = server, m.GetRESTMapper()
	if p.transport, err = rest.TransportFor(config); err != nil {
		return err
	}
	streams := rest.CopyConfig(config)
	streams.NextProtos = []string{"http/1.1"}
	if p.upgrades, err = rest.TransportFor(streams); err != nil {
		return err
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	p.tls, p.ca, err = selfSigned()
	return err
}

// selfSigned returns a configuration with a new certificate for the loopback interface, and the certificate.
func selfSigned() (*tls.Config, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "operon ansible proxy"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	return config, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), nil
}

// metricsPath is where the module osdk_metric sends metrics.
const metricsPath = "/operon/metrics"

// Serve serves requests until ctx ends.
func (p *Proxy) Serve(ctx context.Context) error {
	server := &http.Server{Handler: p, TLSConfig: p.tls, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ServeTLS(p.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the proxy of the Ansible engine: %w", err)
	}
	return nil
}

// Open registers a session, whose requests bear its token.
func (p *Proxy) Open(s *Session) {
	s.proxy, s.token, s.objects = p, rand.Text(), map[objectKey]*seen{}
	p.mu.Lock()
	p.sessions[s.token] = s
	p.mu.Unlock()
}

// Close rejects further requests of a session.
func (p *Proxy) Close(s *Session) {
	p.mu.Lock()
	delete(p.sessions, s.token)
	p.mu.Unlock()
}

// Kubeconfig returns a kubeconfig for the requests of a session.
func (s *Session) Kubeconfig(namespace string) ([]byte, error) {
	const name = "operon"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + s.proxy.listener.Addr().String(), CertificateAuthorityData: s.proxy.ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: s.token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// maxBody is the maximum size of a request that the proxy changes: that of etcd is smaller.
const maxBody = 8 << 20

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	s := p.sessions[token]
	p.mu.Unlock()
	if s == nil {
		refuse(w, apierrors.NewUnauthorized("the request does not come from a run of the Ansible engine, or its run has ended"))
		return
	}
	r.Header.Del("Authorization")
	if r.URL.Path == metricsPath {
		p.metrics.serve(w, r)
		return
	}
	info, err := p.parser.NewRequestInfo(r)
	if err != nil {
		refuse(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	access := s.access(r, info)
	if p.inject && info.IsResourceRequest && info.Subresource == "" && !isReview(info) {
		if err := p.own(r, s, info); err != nil {
			s.miss()
			refuse(w, err)
			return
		}
	}
	p.forward(w, r, access)
}

// forward sends a request to the API server and records the response.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, access *access) {
	forward := &httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(p.server)
			out.Out.Host = p.server.Host
			if access != nil { // the body has to be readable
				out.Out.Header.Del("Accept-Encoding")
			}
		},
		Transport: p.transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if access != nil {
				access.session.miss()
			}
			refuse(w, apierrors.NewServiceUnavailable(err.Error()))
		},
	}
	if r.Header.Get("Upgrade") != "" {
		forward.Transport = p.upgrades
	}
	if access != nil {
		forward.ModifyResponse = access.observe
	}
	forward.ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, err error) {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	answer := status.Status()
	answer.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(answer.Code))
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

// own adds the owner of a session to the object that a request creates.
func (p *Proxy) own(r *http.Request, s *Session, info *request.RequestInfo) error {
	apply := r.Header.Get("Content-Type") == "application/apply-patch+yaml"
	switch {
	case r.Method == http.MethodPost && info.Name == "":
	case r.Method == http.MethodPut, r.Method == http.MethodPatch && apply:
		ours, err := p.isOurs(r, s, apply)
		if err != nil || !ours {
			return err
		}
	default:
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	changed, err := s.Owner.addTo(body, info.Namespace)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if changed == nil { // neither JSON nor YAML
		changed = body
		s.opens("a request creates an object in a format that the proxy cannot read")
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
	r.Header.Set("Content-Length", fmt.Sprint(len(changed)))
	return nil
}

// isOurs reports whether the object of a request has the owner of the session or, if missing is set, does not exist.
func (p *Proxy) isOurs(r *http.Request, s *Session, missing bool) (bool, error) {
	live, err := p.metadata(r.Context(), r.URL.Path, nil)
	if apierrors.IsNotFound(err) {
		return missing, nil
	}
	if err != nil {
		return false, err
	}
	return s.Owner.owns(live), nil
}

// metadata reads the metadata of the object or list with a path.
func (p *Proxy) metadata(ctx context.Context, path string, query url.Values) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	return object, p.read(ctx, path, query, "PartialObjectMetadata", object)
}

// read reads the object or list with a path in the form of a kind, or as it is if that is empty.
func (p *Proxy) read(ctx context.Context, path string, query url.Values, kind string, into any) error {
	return p.send(ctx, http.MethodGet, path, query, kind, nil, into)
}

// send sends a request of the operator itself, and decodes the response if into is not nil.
func (p *Proxy) send(ctx context.Context, method, path string, query url.Values, kind string, content io.Reader, into any) error {
	target := *p.server
	target.Path, target.RawQuery = strings.TrimSuffix(target.Path, "/")+path, query.Encode()
	r, err := http.NewRequestWithContext(ctx, method, target.String(), content)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if kind != "" {
		r.Header.Set("Accept", "application/json;as="+kind+";g=meta.k8s.io;v=v1")
	}
	response, err := p.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		status := &apierrors.StatusError{}
		if err := json.Unmarshal(body, &status.ErrStatus); err != nil || status.ErrStatus.Code == 0 {
			return fmt.Errorf("%s %s: %s", method, path, response.Status)
		}
		return status
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

// path returns the path of the object or list that a record names.
func (p *Proxy) path(kind schema.GroupVersionKind, namespace, name string) (string, error) {
	mapping, err := p.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return "", err
	}
	path := "/apis/" + kind.Group + "/" + kind.Version
	if kind.Group == "" {
		path = "/api/" + kind.Version
	}
	if namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		path += "/namespaces/" + namespace
	}
	path += "/" + mapping.Resource.Resource
	if name != "" {
		path += "/" + name
	}
	return path, nil
}

// encodedOwner is for the annotation of objects that garbage collection cannot reach.
func encodedOwner(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
