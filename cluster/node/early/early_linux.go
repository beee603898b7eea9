package early

import (
	"os"
	"path/filepath"

	"github.com/operon-framework/operon/cluster/node/cni"
	"github.com/operon-framework/operon/cluster/node/machine"
	"github.com/operon-framework/operon/cluster/node/shim"
)

func init() {
	programs := map[string]func(){
		machine.Name: machine.Main,
		shim.Name:    shim.Main,
		cni.Name:     cni.Main,
	}
	if program, ok := programs[filepath.Base(os.Args[0])]; ok {
		program()
		os.Exit(0)
	}
}
