package inside

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/node/settings"
)

// registryAddress is where containerd asks for every image that is not in the store. It is
// in the node's network, on its loopback.
const registryAddress = "127.0.0.1:5000"

// registryTimeout is how long containerd may take to send the head of a request.
const registryTimeout = 10 * time.Second

func registries(dir settings.Dir) string { return dir.File("registries") }

// serveRegistry has every image that is not in the store be not found, at once: there is no
// way to the registry that its name tells, and the error would be about that.
func serveRegistry(ctx context.Context, dir settings.Dir) error {
	folder := filepath.Join(registries(dir), "_default")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	hosts := "server = \"http://" + registryAddress + "\"\n"
	if err := os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(hosts), 0o600); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", registryAddress)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: registryTimeout}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() { klog.ErrorS(server.Serve(listener), "The registry without images ended") }()
	return nil
}
