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

// nowhere is where containerd asks for every image that is neither in the store nor of the
// cluster's own registry. It is in the node's network, on its loopback.
const nowhere = "127.0.0.1:5000"

func registries(dir settings.Dir) string { return dir.File("registries") }

// configureRegistries leads containerd to the cluster's registry, by the names that it has
// on the machine, and to others only where there is a way to them.
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

// leadTo has containerd ask at an address for the images of a registry, or with the name
// _default, for those of all others.
func leadTo(dir settings.Dir, name, address string) error {
	folder := filepath.Join(registries(dir), name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	hosts := "server = \"http://" + address + "\"\n"
	return os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(hosts), 0o600)
}

// serveNowhere has every other image that is not in the store be not found, at once: there
// is no way to the registry that its name tells, and the error would be about that.
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
