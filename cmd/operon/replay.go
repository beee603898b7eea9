package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/prove"
)

// acceptReplay reads the arguments of a replay: in addition to the file, a command or a directory to run instead of the ones in
// the file.
func (v *proving) acceptReplay(args []string) error {
	own := v.target
	own.Run = ""
	if !reflect.DeepEqual(own, prove.Target{}) || v.target.Run != "" && len(args) > 0 {
		return usageError{errors.New("--replay takes manifests from its file: give only the file, and either --run COMMAND or DIR")}
	}
	if len(args) > 0 {
		v.target.Dir = directoryOf(args)
	}
	return nil
}

// consent returns the target that a replay runs and reads. A plan file may come from another person. Therefore its commands and
// paths are used only if the command line names the same ones or states that the file is trusted.
func (v *proving) consent(file *prove.File) (prove.Target, error) {
	target := file.Target
	switch {
	case v.target.Run != "":
		target.Run, target.Dir, target.Main = v.target.Run, "", ""
	case v.target.Dir != "":
		target.Run, target.Dir = "", v.target.Dir
	}
	if v.trustFile {
		return target, nil
	}
	asks := v.outside(target)
	if target.Run != v.target.Run {
		asks = append([]string{"run the shell command: " + target.Run}, asks...)
	}
	if server, remote := v.remote(); remote {
		asks = append(asks, "create the objects of the file in the cluster at "+server)
	}
	if len(asks) == 0 {
		return target, nil
	}
	return target, usageError{fmt.Errorf("%s: the plan file wants to\n  %s\nIf you trust the file, add --trust-file. You can also name what to run: --run COMMAND or DIR",
		v.replay, strings.Join(asks, "\n  "))}
}

// outside lists the paths of a target that are outside of the working directory.
func (v *proving) outside(target prove.Target) []string {
	var asks []string
	look := func(verb, path string) {
		if path != "" && !inWorkingDir(path) {
			asks = append(asks, verb+" "+path+", which is outside of the working directory")
		}
	}
	if target.Dir != v.target.Dir {
		look("build and run", target.Dir)
	}
	look("build and run", mainOf(target))
	for _, path := range []string{target.CRDs, target.Samples, target.Setup, target.RBAC, target.Steps, target.Accept} {
		if !within(v.target.Dir, path) {
			look("read", path)
		}
	}
	return asks
}

// mainOf returns the main package of a target if it is outside of the project, otherwise "".
func mainOf(target prove.Target) string {
	if filepath.IsLocal(target.Main) || target.Main == "" {
		return ""
	}
	return filepath.Join(target.Dir, target.Main)
}

func inWorkingDir(path string) bool {
	dir, err := os.Getwd()
	return err == nil && within(dir, path)
}

// within reports whether a path is inside a directory after links are resolved. It returns false if the directory is "".
func within(dir, path string) bool {
	if dir == "" {
		return false
	}
	inside, err := filepath.Rel(resolved(dir), resolved(path))
	return err == nil && filepath.IsLocal(inside)
}

func resolved(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if led, err := filepath.EvalSymlinks(absolute); err == nil {
		return led
	}
	return absolute
}

// remote returns the server of --kubeconfig, and whether it is on another machine. For an unreadable kubeconfig it returns no
// error, because using it fails later with its own error.
func (v *proving) remote() (server string, is bool) {
	if v.kubeconfig == "" {
		return "", false
	}
	config, err := clientcmd.BuildConfigFromFlags("", v.kubeconfig)
	if err != nil {
		return "", false
	}
	host := config.Host
	if parsed, err := url.Parse(config.Host); err == nil && parsed.Hostname() != "" {
		host = parsed.Hostname()
	}
	ip := net.ParseIP(host)
	return config.Host, host != "localhost" && (ip == nil || !ip.IsLoopback())
}
