package multicall

import (
	"os"
	"path/filepath"

	"github.com/operon-framework/operon/cluster/internal/node/cni"
	"github.com/operon-framework/operon/cluster/internal/node/nodeinit"
	"github.com/operon-framework/operon/cluster/internal/node/shim"
)

func init() {
	programs := map[string]func(){
		nodeinit.Name: nodeinit.Main,
		shim.Name:     shim.Main,
		cni.Name:      cni.Main,
	}
	if program, ok := programs[filepath.Base(os.Args[0])]; ok {
		program()
		os.Exit(0)
	}
}
