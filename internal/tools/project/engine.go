package project

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// WatchesFile is the name of the file that makes a directory without go.mod the project of an operator without Go code.
const WatchesFile = "watches.yaml"

// StockMain is the main package of an operator without Go code: the program that runs a WatchesFile.
const StockMain = "github.com/operon-framework/operon/cmd/operon-engine"

// Stock reports whether the operator is the program that runs a WatchesFile. In this case, the project has no Go
// sources.
func (m Main) Stock() bool { return m.Package == StockMain }

// WithoutGo reports whether dir is the project of an operator without Go code.
func WithoutGo(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, WatchesFile))
	return err == nil
}

// Ansible reports whether the project's WatchesFile has entries with an Ansible role or playbook.
func (p *Project) Ansible() (bool, error) {
	if !p.Main.Stock() {
		return false, nil
	}
	content, err := os.ReadFile(filepath.Join(p.Dir, WatchesFile))
	if err != nil {
		return false, err
	}
	var watches []struct{ Role, Playbook string }
	if err := yaml.Unmarshal(content, &watches); err != nil {
		return false, fmt.Errorf("%s: want a list of entries with group, version and kind: %w", WatchesFile, err)
	}
	for _, watch := range watches {
		if watch.Role != "" || watch.Playbook != "" {
			return true, nil
		}
	}
	return false, nil
}

// stockModule replaces go.mod in the project of an operator without Go code. The program has Operon's flags.
func stockModule(dir string) Module { return Module{Path: filepath.Base(dir), Framework: Operon} }
