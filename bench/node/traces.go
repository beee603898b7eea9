package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cycled is the name of the cluster that is started and stopped. It distinguishes its control groups from others.
const cycled = "cycles"

// groupsName is the name of control groups in traces.
const groupsName = "control groups"

// traces are what a node could leave on a machine. Processes and sockets are limited to the ones that contain the benchmark's
// home, everything else covers the complete machine.
var traces = []struct {
	name string
	list func(home string) ([]string, error)
}{
	{"processes", processes},
	{"unix sockets", func(home string) ([]string, error) { return lines("/proc/net/unix", home) }},
	{"mounts", func(string) ([]string, error) { return lines("/proc/self/mountinfo", "") }},
	{"links", func(string) ([]string, error) { return filepath.Glob("/sys/class/net/*") }},
	{"routes", func(string) ([]string, error) { return lines("/proc/net/route", "") }},
	{"rules", rules},
	{groupsName, controlGroups},
	{"kernel settings", kernelSettings},
	{"directories where nodes keep things", nodeFolders},
	{"files of the cluster", func(home string) ([]string, error) { return filepath.Glob(filepath.Join(home, "clusters", "*")) }},
}

// processes lists the processes whose command line or environment contains home.
func processes(home string) (found []string, err error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		line, lineErr := os.ReadFile(filepath.Join(folder, "cmdline"))
		environment, envErr := os.ReadFile(filepath.Join(folder, "environ"))
		if lineErr != nil || envErr != nil {
			continue // it has ended in the meantime
		}
		if folder != fmt.Sprintf("/proc/%d", os.Getpid()) && strings.Contains(string(line)+string(environment), home) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found, nil
}

// lines returns the lines of a file that contain a text.
func lines(file, text string) (found []string, err error) {
	data, err := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found, err
}

// rules returns the rules of nftables without their counters.
func rules(string) (found []string, err error) {
	all, err := exec.Command("nft", "--stateless", "list", "ruleset").Output()
	for line := range strings.Lines(string(all)) {
		found = append(found, strings.TrimSpace(line))
	}
	return found, err
}

// controlGroups lists the control groups except the ones of other clusters.
func controlGroups(string) (found []string, err error) {
	shared := map[string]bool{} // groups of nodes that contain the ones of other clusters
	err = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it was removed in the meantime, so it belonged to another program
		}
		if err != nil || !entry.IsDir() {
			return err
		}
		if above := filepath.Dir(path); filepath.Base(above) == "operon" && !strings.HasPrefix(entry.Name(), cycled+"-") {
			shared[above] = true
			return fs.SkipDir
		}
		found = append(found, path)
		return nil
	})
	kept := found[:0]
	for _, path := range found {
		if !shared[path] {
			kept = append(kept, path)
		}
	}
	return kept, err
}

// kernelSettings returns the settings that a kubelet or kube-proxy would change for the complete machine.
func kernelSettings(string) (found []string, err error) {
	for _, name := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
		"kernel/hostname", "net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet", "net/netfilter/nf_conntrack_max",
	} {
		value, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if os.IsNotExist(err) {
			continue // this kernel does not have the setting
		}
		if err != nil {
			return nil, err
		}
		found = append(found, name+" = "+strings.TrimSpace(string(value)))
	}
	return found, nil
}

// nodeFolders lists the contents of the directories in which containerd, the kubelet and network plugins store files on a
// machine that is a node.
func nodeFolders(string) (found []string, err error) {
	for _, folder := range []string{"/run/containerd", "/run/netns", "/run/runc", "/var/lib/cni", "/var/lib/kubelet", "/var/lib/containerd", "/var/log/pods", "/var/log/containers", "/etc/cni", "/opt/cni"} {
		for _, pattern := range []string{folder, folder + "/*"} {
			some, err := filepath.Glob(pattern)
			if err != nil {
				return nil, err
			}
			found = append(found, some...)
		}
	}
	return found, nil
}
