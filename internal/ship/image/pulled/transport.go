package pulled

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// transport returns a transport for registries. It connects to no address at which clouds offer credentials of the machine, and it follows no
// redirect away from TLS: a reference, or the redirect of a registry, could name anything that this machine can reach.
func transport() http.RoundTripper {
	made := remote.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is documented
	made.DialContext = Dial
	made.ResponseHeaderTimeout = timing.answer
	return guarded{made}
}

// guarded is a transport that refuses redirects from https to http, after which the registry library would accept a server for tokens without TLS,
// and that limits manifests, which the library reads into memory.
type guarded struct{ next http.RoundTripper }

func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if from := request.Response; request.URL.Scheme == "http" && from != nil && from.Request != nil && from.Request.URL.Scheme == "https" {
		return nil, own{fmt.Errorf("the registry redirects from https to http at %s, which is not allowed", request.URL.Host)}
	}
	answer, err := g.next.RoundTrip(request)
	if err == nil && isManifest(request) {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxDocument)
	}
	return answer, err
}

// isManifest reports whether a request is for a manifest, or follows a redirect of one.
func isManifest(request *http.Request) bool {
	for request.Response != nil && request.Response.Request != nil {
		request = request.Response.Request
	}
	return path.Base(path.Dir(request.URL.Path)) == "manifests"
}

// Dial connects to an address that somebody else has named, but to none at which clouds offer credentials of the machine.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: refuseMetadata}
	return dialer.DialContext(ctx, network, address)
}

func refuseMetadata(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := to.Addr().Unmap().WithZone(""); ip.IsLinkLocalUnicast() || ip.IsMulticast() || slices.Contains(metadata, ip) {
		return fmt.Errorf("%s is no address of a registry or a catalog", ip)
	}
	return nil
}

// metadata are the addresses outside of link-local ranges at which clouds offer credentials of the machine. The relay of the cluster module, which
// shares no code with this one, has the same list: see cluster/internal/node/relay_linux.go.
var metadata = []netip.Addr{
	netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254"),
}

// podHint explains why a registry on loopback refuses connections in a pod, where its address refers to the pod itself. Otherwise it returns "".
func podHint(reference string, err error) string {
	ref, invalid := name.ParseReference(reference)
	if invalid != nil || !errors.Is(err, syscall.ECONNREFUSED) || os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return ""
	}
	host := ref.Context().RegistryStr()
	if only, _, err := net.SplitHostPort(host); err == nil {
		host = only
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return ""
	}
	return fmt.Sprintf("; in a pod, %s is the pod itself: push the images to a registry that pods can reach, or run the manager outside the cluster with `operon olm up`", host)
}
