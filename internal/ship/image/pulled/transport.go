package pulled

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// transport returns a transport for registries. It connects to no link-local address, at which clouds offer credentials of the machine: a
// reference, or the redirect of a registry, could name one.
func transport() http.RoundTripper {
	made := remote.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is documented
	made.DialContext = Dial
	made.ResponseHeaderTimeout = timing.answer
	return made
}

// Dial connects to an address that somebody else has named, but to no link-local one.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: refuseLinkLocal}
	return dialer.DialContext(ctx, network, address)
}

func refuseLinkLocal(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := to.Addr().Unmap(); ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip == providerIPv6 {
		return fmt.Errorf("%s is no address of a registry or a catalog", ip)
	}
	return nil
}

// providerIPv6 is the address at which a large cloud offers credentials in IPv6. It is not link-local.
var providerIPv6 = netip.MustParseAddr("fd00:ec2::254")

// short returns the error of a registry without the content of its answer, which can be anything if it is no registry.
func short(err error) error {
	var answer *registry.Error
	if !errors.As(err, &answer) {
		return err
	}
	if len(answer.Errors) == 0 {
		return fmt.Errorf("the registry answers with status %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	return fmt.Errorf("the registry answers with status %d: %.100q", answer.StatusCode, answer.Errors[0].Code)
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
