package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/cmd/containerd/server"
	srvconfig "github.com/containerd/containerd/v2/cmd/containerd/server/config"
	"github.com/containerd/containerd/v2/defaults"
	"github.com/containerd/containerd/v2/plugins/snapshots/overlay/overlayutils"
	"github.com/containerd/containerd/v2/version"
	"github.com/containerd/log"
	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/internal/image"
	"github.com/operon-framework/operon/cluster/internal/node/cni"
	"github.com/operon-framework/operon/cluster/internal/node/nodeinit"
	"github.com/operon-framework/operon/cluster/internal/node/pause"
	"github.com/operon-framework/operon/cluster/internal/node/settings"
	"github.com/operon-framework/operon/cluster/internal/node/shim"
)

// stateDir is the directory of containerd's temporary state. Only the node sees it.
const stateDir = "/run/containerd"

// startContainerd starts containerd and returns when it responds and pods can be started.
func startContainerd(ctx context.Context, dir settings.Dir, s settings.Settings) error {
	if err := installPrograms(dir); err != nil {
		return err
	}
	if err := writeNetwork(dir, s); err != nil {
		return err
	}
	if err := configureRegistries(ctx, dir, s); err != nil {
		return fmt.Errorf("registries: %w", err)
	}
	if err := log.SetLevel("warn"); err != nil {
		return err
	}
	snapshotter := snapshotterFor(s.Store)
	if err := os.WriteFile(dir.Snapshotter(), []byte(snapshotter), 0o600); err != nil {
		return err
	}
	config := containerdConfig(dir, s, snapshotter)
	if err := server.CreateTopLevelDirectories(config); err != nil {
		return err
	}
	daemon, err := server.New(ctx, config)
	if err != nil {
		return err
	}
	if err := daemon.Start(ctx); err != nil {
		return err
	}
	context.AfterFunc(ctx, daemon.Stop)
	daemon.Wait()
	// The part of the kubelet that measures containers expects containerd at its default path.
	if err := os.Symlink(dir.Socket(), filepath.Join(stateDir, "containerd.sock")); err != nil {
		return err
	}
	return importPause(ctx, dir)
}

// installPrograms puts this program at the paths where containerd looks for its shim and for the network plugin. It uses mounts
// and not links, so the program sees that name as its own path, too, and stays the same if its file is replaced.
func installPrograms(dir settings.Dir) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	binaries := nodeinit.Binaries(string(dir))
	if err := os.MkdirAll(binaries, 0o700); err != nil {
		return err
	}
	for _, name := range []string{shim.Name, cni.Name} {
		path := filepath.Join(binaries, name)
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			return err
		}
		if err := unix.Mount(self, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("install %s: %w", name, err)
		}
	}
	return nil
}

func networkDir(dir settings.Dir) string { return dir.File("network") }

// writeNetwork writes the settings of the pods' network.
func writeNetwork(dir settings.Dir, s settings.Settings) error {
	route := settings.All
	if s.Egress {
		route = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	leases, ports := dir.File("leases"), dir.File("ports")
	for _, folder := range []string{networkDir(dir), leases, ports} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	plugin := struct {
		Type         string          `json:"type"`
		Capabilities map[string]bool `json:"capabilities"`
		cni.Settings
	}{cni.Name, map[string]bool{"portMappings": true}, cni.Settings{
		Bridge: settings.Bridge, Subnet: settings.Pods, Gateway: settings.Address, Route: route, Leases: leases, Ports: ports,
	}}
	data, err := json.Marshal(map[string]any{"cniVersion": "1.0.0", "name": "operon", "plugins": []any{plugin}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(networkDir(dir), "10-operon.conflist"), data, 0o600)
}

// table is a table in containerd's settings.
type table = map[string]any

func containerdConfig(dir settings.Dir, s settings.Settings, snapshotter string) *srvconfig.Config {
	runc := table{
		"runtime_type": shim.Runtime,
		"runtime_path": filepath.Join(nodeinit.Binaries(string(dir)), shim.Name),
		"options":      table{"BinaryName": s.Runc, "SystemdCgroup": false},
	}
	return &srvconfig.Config{
		Version: version.ConfigVersion,
		Root:    s.Store,
		State:   stateDir,
		TempDir: dir.File("tmp"),
		// Without this setting, containerd would start without the plugin, and only the kubelet would fail.
		RequiredPlugins: []string{"io.containerd.grpc.v1.cri"},
		Plugins: table{
			"io.containerd.server.v1.grpc": table{
				"address":               dir.Socket(),
				"max_recv_message_size": defaults.DefaultMaxRecvMsgSize,
				"max_send_message_size": defaults.DefaultMaxSendMsgSize,
			},
			"io.containerd.server.v1.ttrpc": table{"address": filepath.Join(stateDir, "ttrpc.sock")},
			"io.containerd.cri.v1.images": table{
				"snapshotter":   snapshotter,
				"pinned_images": table{"sandbox": pause.Reference},
				"registry":      table{"config_path": registries(dir)},
			},
			"io.containerd.cri.v1.runtime": table{
				"restrict_oom_score_adj": s.KeepOOMScore,
				// AppArmor would load containerd's profile into the machine's kernel permanently.
				"disable_apparmor": true,
				"cni": table{
					"bin_dirs":              []string{nodeinit.Binaries(string(dir))},
					"conf_dir":              networkDir(dir),
					"use_internal_loopback": true,
				},
				"containerd": table{"default_runtime_name": "runc", "runtimes": table{"runc": runc}},
			},
		},
	}
}

// snapshotterFor returns overlayfs or, if the underlying file system does not support it, the snapshotter that copies files.
func snapshotterFor(root string) string {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return defaults.DefaultSnapshotter // it will report the problem with the directory
	}
	if err := overlayutils.Supported(root); err != nil {
		log.L.WithError(err).Warn("images are copied for each container, as overlayfs is not supported here")
		return "native"
	}
	return defaults.DefaultSnapshotter
}

// importPause writes the image of pod sandboxes to the store.
func importPause(ctx context.Context, dir settings.Dir) error {
	archive, err := pause.Archive(runtime.GOARCH)
	if err != nil {
		return err
	}
	client, err := containerd.New(dir.Socket(), containerd.WithDefaultNamespace(image.Namespace))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Import(ctx, io.Reader(bytes.NewReader(archive)))
	if err != nil {
		return fmt.Errorf("import the image of pods' sandboxes: %w", err)
	}
	return nil
}
