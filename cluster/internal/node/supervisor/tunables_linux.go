package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
	"k8s.io/component-helpers/node/util/sysctl"
)

// tunables are the kernel settings that the kubelet changes permanently. They must not change on a machine that is not only a
// node.
var tunables = map[string]int{
	sysctl.VMOvercommitMemory: sysctl.VMOvercommitMemoryAlways,
	sysctl.VMPanicOnOOM:       sysctl.VMPanicOnOOMInvokeOOMKiller,
	sysctl.KernelPanic:        sysctl.KernelPanicRebootTimeout,
	sysctl.KernelPanicOnOops:  sysctl.KernelPanicOnOopsAlways,
	sysctl.RootMaxKeys:        sysctl.RootMaxKeysSetting,
	sysctl.RootMaxBytes:       sysctl.RootMaxBytesSetting,
}

// keepTunables shows the kubelet the values that it expects, in files that only the node sees.
func keepTunables() error {
	if err := os.MkdirAll(stateDir, 0o711); err != nil {
		return err
	}
	for name, value := range tunables {
		seen := filepath.Join(stateDir, filepath.Base(name))
		if err := os.WriteFile(seen, []byte(strconv.Itoa(value)+"\n"), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(seen, filepath.Join("/proc/sys", name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
