// Package shim is containerd's shim for runc: the process that manages the containers of one pod. It is linked into this
// program, so a node needs no additional file.
//
// containerd and its shim share a registry of plugins, and a process uses all plugins in it. Therefore Main first removes the
// plugins of containerd.
package shim

import (
	"context"
	"flag"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/manager"
	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/containerd/v2/pkg/shutdown"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
)

const (
	// Name is the name of the program when it runs as the shim.
	Name = "containerd-shim-runc-v2"
	// Runtime is the name of the shim in containerd's settings.
	Runtime = "io.containerd.runc.v2"
)

// Main is the shim's main function.
func Main() {
	// Flags are reset, too: another package defines flags with the names of the shim's flags.
	flag.CommandLine = flag.NewFlagSet(Name, flag.ExitOnError)
	registry.Reset()
	registry.Register(&plugin.Registration{
		Type:     plugins.TTRPCPlugin,
		ID:       "task",
		Requires: []plugin.Type{plugins.EventPlugin, plugins.InternalPlugin},
		InitFn:   newTasks,
	})
	shim.RunShim(context.Background(), manager.NewShimManager(Runtime))
}

// newTasks returns the service that handles containerd's requests to the shim.
func newTasks(ic *plugin.InitContext) (any, error) {
	publisher, err := ic.GetByID(plugins.EventPlugin, "publisher")
	if err != nil {
		return nil, err
	}
	end, err := ic.GetByID(plugins.InternalPlugin, "shutdown")
	if err != nil {
		return nil, err
	}
	return task.NewTaskService(ic.Context, publisher.(shim.Publisher), end.(shutdown.Service))
}
