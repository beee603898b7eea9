package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/operon-framework/operon/local"
)

// operonModule is the path of the module of StockMain.
const operonModule = "github.com/operon-framework/operon"

// StockSources returns the directory of the module in which StockMain is built: the checkout from which this executable was built, or else
// the module of its released version, which the go command downloads.
func StockSources(ctx context.Context) (string, error) {
	_, source, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(source), "..", "..", "..")
	if filepath.IsAbs(root) && local.Trusted(filepath.Join(root, "go.mod")) == nil {
		return root, nil
	}
	version := releaseOf()
	if version == "" {
		return "", errors.New("find the program that runs watches.yaml: this executable has neither a released version nor a checkout to build it from")
	}
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", operonModule+"@"+version)
	command.Dir = os.TempDir() // outside of any module
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	output, err := command.Output()
	var module struct{ Dir, Error string }
	if decoded := json.Unmarshal(output, &module); err == nil {
		err = decoded
	}
	if module.Error != "" {
		err = errors.New(module.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download the program that runs watches.yaml: %w", err)
	}
	return module.Dir, nil
}

// releaseOf returns the released version of this executable, or "".
func releaseOf() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") || strings.Contains(info.Main.Version, "+") {
		return ""
	}
	return info.Main.Version
}
