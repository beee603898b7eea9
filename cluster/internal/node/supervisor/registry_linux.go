package supervisor

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// nowhere is the address that containerd contacts for every image that is neither in the store nor in the cluster's own
// registry. It is a loopback address in the node's network.
const nowhere = "127.0.0.1:5000"

func registries(dir settings.Dir) string { return dir.File("registries") }

// configureRegistries makes containerd use the cluster's registry for the names that it has on the machine. Other registries
// are only used if egress is enabled.
func configureRegistries(ctx context.Context, dir settings.Dir, s settings.Settings) error {
	for _, name := range s.Registry {
		if err := leadTo(dir, name, settings.Registry.String()); err != nil {
			return err
		}
	}
	if s.Egress {
		return nil
	}
	return serveNowhere(ctx, dir)
}

// leadTo makes containerd pull the images of a registry from an address. The name _default stands for all other registries.
func leadTo(dir settings.Dir, name, address string) error {
	folder := filepath.Join(registries(dir), name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	hosts := "server = \"http://" + address + "\"\n"
	return os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(hosts), 0o600)
}

// serveNowhere reports all other images that are not in the store as not found, at once. Otherwise the error would be that the
// registry in their name is unreachable.
func serveNowhere(ctx context.Context, dir settings.Dir) error {
	if err := leadTo(dir, "_default", nowhere); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", nowhere)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: timing.headerTimeout}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() { klog.ErrorS(server.Serve(listener), "The registry without images ended") }()
	return nil
}
