// Command operon-engine runs operators without Go: the kinds in a file watches.yaml, each by the engine that its entry names.
//
//	operon-engine [run] [--watches-file FILE] [flags of operon.Main]
//
// It also accepts the flags and environment variables of Operator SDK's Helm and Ansible operators.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	_ "time/tzdata" // images do not contain it

	"go.yaml.in/yaml/v3"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/helm"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "version" {
		fmt.Println("operon-engine", version())
		return
	}
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "operon-engine: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	s, rest, err := translate(os.Args[1:])
	if err != nil {
		return err
	}
	watches, err := engine.Read(s.watches, helm.Engine{HideOverrides: s.hideOverrides}, &s.ansible)
	if err != nil {
		return err
	}
	for _, watch := range watches {
		if watch.ReconcilePeriod == 0 {
			watch.ReconcilePeriod = s.period
		}
		if watch.MaxConcurrentReconciles == 0 {
			watch.MaxConcurrentReconciles = s.concurrency
		}
	}
	options, err := engine.Options(watches)
	if err != nil {
		return err
	}
	name, err := s.operatorName()
	if err != nil {
		return err
	}
	if namespaces := os.Getenv("WATCH_NAMESPACE"); namespaces != "" && !s.namespaced {
		rest = append(rest, "--namespace="+namespaces)
	}
	if s.leaseNamespace != "" {
		if err := os.Setenv("POD_NAMESPACE", s.leaseNamespace); err != nil {
			return err
		}
	}
	rest = append(rest, addresses(rest, slices.ContainsFunc(watches, func(w *engine.Watch) bool { return w.Engine() == "helm" }))...)
	os.Args = append(os.Args[:1:1], rest...) // operon.Main parses the rest
	operon.Main(name, append(options, operon.ManagerOptions(s.manager))...)
	return nil
}

// operatorName returns the name of the operator: the leader election ID, or else $OPERATOR_NAME, the name in PROJECT,
// or the name of the directory of the watches file. It must not change, because child objects are identified by it.
func (s settings) operatorName() (string, error) {
	if s.name != "" {
		return s.name, nil
	}
	if name := os.Getenv("OPERATOR_NAME"); name != "" {
		return name, nil
	}
	file, err := filepath.Abs(s.watches)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(file)
	content, err := os.ReadFile(filepath.Join(dir, "PROJECT"))
	if err == nil {
		var project struct {
			Name string `yaml:"projectName"`
		}
		if err := yaml.Unmarshal(content, &project); err != nil {
			return "", fmt.Errorf("%s: %w", filepath.Join(dir, "PROJECT"), err)
		}
		if project.Name != "" {
			return project.Name, nil
		}
	}
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	return filepath.Base(dir), nil
}

// version returns the version of this program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
