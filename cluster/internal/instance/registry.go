package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
	"github.com/operon-framework/operon/cluster/internal/registry"
)

// images is the registry of a cluster, for this machine and for the node.
type images struct {
	// address is where this machine pushes, and so what images are called.
	address string
	served  *registry.Registry
}

// serveImages has this machine push images from now on, which counts as use of the cluster.
func serveImages(ctx context.Context, f folder, spec Spec, use *activity) (*images, error) {
	folder := spec.registry(f)
	listener, err := listenForImages(folder, spec)
	if err != nil {
		return nil, err
	}
	i := &images{address: listener.Addr().String()}
	if i.served, err = registry.Open(folder, spec.Data != ""); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	_, port, err := net.SplitHostPort(i.address)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(portFile(folder), []byte(port), 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	guard := registry.Guard{Users: pushers(), Hosts: i.names(), Next: use.count(i.served)}
	serveHTTP(ctx, listener, guard.Server())
	return i, nil
}

// portFile holds the port by which images that are kept are called.
func portFile(folder string) string { return filepath.Join(folder, "port") }

// listenForImages listens at the port that is asked for, or that kept images are called
// by, or one that is free.
func listenForImages(folder string, spec Spec) (net.Listener, error) {
	port := spec.RegistryPort
	kept, err := os.ReadFile(portFile(folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if port == 0 && err == nil {
		if port, err = strconv.Atoi(strings.TrimSpace(string(kept))); err != nil {
			return nil, fmt.Errorf("%s: %w; remove it, or set --registry-port", portFile(folder), err)
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && spec.RegistryPort == 0 {
		return nil, fmt.Errorf("the names of the images in %s contain a port that is in use: %w; stop the program that uses it, or rename the images with --registry-port", folder, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; choose another port with --registry-port, or omit it for a free port", err)
	}
	return listener, nil
}

// pushers are the users that may push: containers run as root's, so whoever could change an
// image would be root.
func pushers() []uint32 {
	users := []uint32{uint32(os.Geteuid())}
	if uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32); err == nil {
		users = append(users, uint32(uid))
	}
	return users
}

// names are what the registry goes by.
func (i *images) names() []string {
	return []string{i.address, strings.Replace(i.address, "127.0.0.1", "localhost", 1)}
}

// serveNode has the node pull.
func (i *images) serveNode(ctx context.Context, listen func(netip.AddrPort) (net.Listener, error)) error {
	listener, err := listen(settings.Registry)
	if err != nil {
		return fmt.Errorf("the registry cannot listen in the node's network: %w", err)
	}
	serveHTTP(ctx, listener, &http.Server{Handler: registry.ReadOnly(i.served), ReadHeaderTimeout: timing.headerTimeout})
	return nil
}

func serveHTTP(ctx context.Context, listener net.Listener, server *http.Server) {
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The registry ended", "address", listener.Addr())
		}
	}()
}

// publish tells tools in the cluster where to push, as KEP-1755 has it.
func (i *images) publish(ctx context.Context, client kubernetes.Interface) error {
	told := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "local-registry-hosting", Namespace: metav1.NamespacePublic},
		Data:       map[string]string{"localRegistryHosting.v1": fmt.Sprintf("host: %q\n", i.address)},
	}
	maps := client.CoreV1().ConfigMaps(told.Namespace)
	_, err := maps.Create(ctx, told, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // of an earlier run, whose port may have been another
		_, err = maps.Update(ctx, told, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("configmap %s: %w", told.Name, err)
	}
	return nil
}
