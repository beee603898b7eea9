package generate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-tools/pkg/schemapatcher"

	"github.com/operon-framework/operon/internal/tools/project"
)

// wanted is everything that is to be generated in a project.
type wanted struct {
	runs    []run
	outputs Outputs
	notes   []string
	files   []string // that define this, with their absolute paths
}

// wantedIn returns what is to be generated in dir: in a project with kubebuilder's layout, what controller-gen generates
// according to its Makefile; in all others, what their settings specify.
func wantedIn(dir string, flags []string) (*wanted, error) {
	settings, err := settingsOf(dir, flags)
	if err != nil {
		return nil, err
	}
	tool, err := project.ReadControllerGen(dir)
	if err != nil {
		return nil, err
	}
	if tool == nil && !isKubebuilders(dir) {
		name, _, err := project.NameOf(dir)
		if err != nil {
			return nil, err
		}
		return &wanted{runs: []run{settings.run(name)}, outputs: settings.Outputs}, nil
	}
	const because = "the arguments of controller-gen in its Makefile apply; change them there"
	if err := onlyOutputs(flags, because); err != nil {
		return nil, err
	}
	if kept, file, line, _ := directive(dir); onlyOutputs(kept, because) != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, line, onlyOutputs(kept, because))
	}
	asked := &wanted{outputs: settings.Outputs}
	if settings.Shards {
		asked.notes = append(asked.notes, "shards in operon.yaml adds no permissions here: write +kubebuilder:rbac markers for those that --shards needs")
	}
	if tool == nil {
		tool = usualControllerGen(dir)
		asked.notes = append(asked.notes, "no Makefile here runs controller-gen: generating as in kubebuilder's default Makefile")
	}
	return asked, asked.add(dir, tool)
}

// isKubebuilders reports whether kubebuilder or Operator SDK created the project.
func isKubebuilders(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "PROJECT"))
	return err == nil && info.Mode().IsRegular()
}

// usualControllerGen returns the runs of controller-gen in kubebuilder's own Makefile, with its header if the project has that.
func usualControllerGen(dir string) *project.ControllerGen {
	object, header := "object", "hack/boilerplate.go.txt"
	if _, err := os.Stat(filepath.Join(dir, header)); err == nil {
		object += ":headerFile=" + header + ",year=" + time.Now().Format("2006")
	}
	return &project.ControllerGen{Runs: []project.ControllerGenRun{
		{Target: "manifests", Arguments: []string{"rbac:roleName=manager-role", "crd", "webhook", "paths=./...", "output:crd:artifacts:config=config/crd/bases"}},
		{Target: "generate", Arguments: []string{object, "paths=./..."}},
	}}
}

// onlyOutputs rejects flags that have no effect in a project: all except those for outputs. Some outputs may not be available there.
func onlyOutputs(flags []string, because string, unavailable ...string) error {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&Outputs{}).AddFlags(known)
	for _, flag := range flags {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if strings.HasPrefix(flag, "--") && (known.Lookup(name) == nil || slices.Contains(unavailable, name)) {
			return fmt.Errorf("--%s has no effect in this project: %s", name, because)
		}
	}
	return nil
}

// add adds the project's runs of controller-gen in dir. Runs that differ only in their generators are combined.
func (w *wanted) add(dir string, tool *project.ControllerGen) error {
	for _, name := range tool.Files {
		w.files = append(w.files, filepath.Join(dir, name))
	}
	for _, one := range tool.Runs {
		arguments, notes := inTodaysWords(one.Arguments)
		w.notes = append(w.notes, notes...)
		asked, err := asControllerGen(arguments)
		if err != nil {
			return fmt.Errorf("%s: %w", one.Place(), err)
		}
		asked.dir = one.Dir
		for i := range asked.jobs {
			asked.jobs[i].version = tool.Version
			if patcher, ok := asked.jobs[i].generator.(schemapatcher.Generator); ok {
				patcher.ManifestsPath = filepath.Join(dir, one.Dir, patcher.ManifestsPath)
				asked.jobs[i].generator, asked.jobs[i].patches = patcher, true
			}
			asked.jobs[i].config = filepath.Join(one.Dir, asked.jobs[i].config)
			if asked.jobs[i].code != "" {
				asked.jobs[i].code = filepath.Join(one.Dir, asked.jobs[i].code)
			}
		}
		w.join(asked)
	}
	if tool.Version != "" && tool.Version != toolsVersion {
		w.notes = append(w.notes, fmt.Sprintf("this project pins controller-gen %s, and its manifests keep that version in their annotation; the output is that of %s", tool.Version, toolsVersion))
	}
	return nil
}

// join adds a run to another run that loads the same packages, if there is one.
func (w *wanted) join(asked run) {
	for i, there := range w.runs {
		if there.dir == asked.dir && there.tags == asked.tags && slices.Equal(there.paths, asked.paths) {
			w.runs[i].jobs = append(there.jobs, asked.jobs...)
			return
		}
	}
	w.runs = append(w.runs, asked)
}
