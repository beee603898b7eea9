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
	"github.com/operon-framework/operon/cluster/internal/pki"
	"github.com/operon-framework/operon/cluster/internal/registry"
)

// images is the image registry of a cluster, for this machine and for the node.
type images struct {
	// address is the address to which this machine pushes, and the prefix of the names of images.
	address string
	served  *registry.Registry
}

// serveImages starts the registry, so this machine can push images. Pushes count as use of the cluster.
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
	if err := pki.WriteFile(portFile(folder), []byte(port)); err != nil { // a crash leaves the old one or the new one
		return nil, errors.Join(err, listener.Close())
	}
	guard := registry.Guard{Users: pushers(), Hosts: i.names(), Next: use.count(i.served)}
	serveHTTP(ctx, listener, guard.Server())
	return i, nil
}

// portFile returns the file with the port that is part of the names of retained images.
func portFile(folder string) string { return filepath.Join(folder, "port") }

// listenForImages listens on the requested port, on the port in the names of retained images, or on a free port.
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

// pushers returns the users who may push. Containers run as root, so every user who could change an image would have root
// permissions.
func pushers() []uint32 {
	users := []uint32{uint32(os.Geteuid())}
	if uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32); err == nil {
		users = append(users, uint32(uid))
	}
	return users
}

// names returns the host names of the registry.
func (i *images) names() []string {
	return []string{i.address, strings.Replace(i.address, "127.0.0.1", "localhost", 1)}
}

// serveNode makes the registry available to the node for pulls.
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

// publish writes the address of the registry to the ConfigMap in which tools look for it, as defined by KEP-1755.
func (i *images) publish(ctx context.Context, client kubernetes.Interface) error {
	told := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "local-registry-hosting", Namespace: metav1.NamespacePublic},
		Data:       map[string]string{"localRegistryHosting.v1": fmt.Sprintf("host: %q\n", i.address)},
	}
	maps := client.CoreV1().ConfigMaps(told.Namespace)
	_, err := maps.Create(ctx, told, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // created by an earlier run, whose port may have been different
		_, err = maps.Update(ctx, told, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("configmap %s: %w", told.Name, err)
	}
	return nil
}
