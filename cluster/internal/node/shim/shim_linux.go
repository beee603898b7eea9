// Package shim is containerd's shim for runc: the process that holds the containers of one
// pod. It is linked in, and not a program of its own, so that a node needs no other file.
//
// containerd and its shim share a registry of plugins, and a process takes everything in
// it for its own: Main empties it first of what belongs to containerd.
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
	// Name is what the program has to be called to be the shim.
	Name = "containerd-shim-runc-v2"
	// Runtime is how containerd's settings call it.
	Runtime = "io.containerd.runc.v2"
)

// Main is the shim's main function.
func Main() {
	// So do flags: another package's have names of the shim's.
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

// newTasks serves what containerd asks of the shim.
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
