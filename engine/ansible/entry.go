package ansible

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/content"
)

// entry is an entry of watches.yaml.
type entry struct {
	watch *engine.Watch
	// dir is the directory of watches.yaml, in which runs take place.
	dir       string
	main      source
	vars      map[string]any
	finalizer *finalizer

	switches
	// ignored contains the kinds that are not watched.
	ignored []schema.GroupVersionKind
	period  time.Duration
	workers int
	verbose int

	// files are the files and directories that the entry names.
	files []string
	// settings are those of Ansible on which runs depend.
	settings []string
	// content is that of files, and of those outside of the project.
	content content.Content
}

// switches are the fields of an entry that are true or false.
type switches struct{ manageStatus, snakeCase, annotations, unsafe, prunes bool }

// source is a role or a playbook. One of the fields is set.
type source struct{ role, playbook string }

// String returns what runs, for people.
func (s source) String() string {
	if s.playbook != "" {
		return "playbook " + filepath.Base(s.playbook)
	}
	return "role " + filepath.Base(s.role)
}

// name returns a text that identifies a source in a project: regardless of where the project is.
func (s source) name(dir string) string {
	if relative, err := filepath.Rel(dir, s.role+s.playbook); err == nil {
		return relative
	}
	return s.role + s.playbook
}

// finalizer is what runs when an object is deleted.
type finalizer struct {
	name string
	source
	vars map[string]any
}

// read reads an entry.
func (e *Engine) read(w *engine.Watch) (*entry, error) {
	t := &entry{watch: w, dir: w.Dir(), switches: switches{manageStatus: true, snakeCase: true}, workers: runtime.NumCPU(), period: timing.period, verbose: e.Verbosity}
	var ignored []struct{ Group, Version, Kind string }
	var artifacts int
	var clusterScoped bool
	for _, field := range []struct {
		name string
		into any
	}{
		{"manageStatus", &t.manageStatus}, {"snakeCaseParameters", &t.snakeCase}, {"watchAnnotationsChanges", &t.annotations},
		{"markUnsafe", &t.unsafe}, {"prune", &t.prunes}, {"blacklist", &ignored}, {"vars", &t.vars}, {"maxRunnerArtifacts", &artifacts},
		{"watchClusterScopedResources", &clusterScoped},
	} {
		if err := w.Decode(field.name, field.into); err != nil {
			return nil, err
		}
	}
	if t.prunes && !t.manageStatus {
		return nil, w.Errorf("prune", "prune needs the status, in which runs are recorded: remove manageStatus: false")
	}
	for _, kind := range ignored {
		t.ignored = append(t.ignored, schema.GroupVersionKind(kind))
	}
	if w.ReconcilePeriod > 0 {
		t.period = w.ReconcilePeriod
	}
	if w.MaxConcurrentReconciles > 0 {
		t.workers = w.MaxConcurrentReconciles
	}
	if err := t.environment(); err != nil {
		return nil, err
	}
	var err error
	if t.main, err = e.source(w, t.dir); err != nil {
		return nil, err
	}
	if err := e.readFinalizer(t); err != nil {
		return nil, err
	}
	t.settings = []string{e.Arguments, os.Getenv("ANSIBLE_INVENTORY")}
	return t, t.scan(e.outside(t.dir))
}

// source reads the fields role and playbook. The playbook takes precedence.
func (e *Engine) source(w *engine.Watch, dir string) (source, error) {
	var role, playbook string
	if err := errors.Join(w.Decode("role", &role), w.Decode("playbook", &playbook)); err != nil {
		return source{}, err
	}
	found, err := e.find(dir, role, playbook)
	if err != nil {
		field := "role"
		if playbook != "" {
			field = "playbook"
		}
		return source{}, w.Errorf(field, "%w", err)
	}
	return found, nil
}

func (e *Engine) readFinalizer(t *entry) error {
	if !t.watch.Has("finalizer") {
		return nil
	}
	var read struct {
		Name, Role, Playbook string
		Vars                 map[string]any
	}
	if err := t.watch.Decode("finalizer", &read); err != nil {
		return err
	}
	if read.Name == "" {
		return t.watch.Errorf("finalizer", "the finalizer has no name")
	}
	if read.Role == "" && read.Playbook == "" && read.Vars == nil {
		return t.watch.Errorf("finalizer", "the finalizer %s needs a role, a playbook or vars", read.Name)
	}
	t.finalizer = &finalizer{name: read.Name, source: t.main, vars: read.Vars}
	if read.Role == "" && read.Playbook == "" {
		return nil
	}
	found, err := e.find(t.dir, read.Role, read.Playbook)
	if err != nil {
		return t.watch.Errorf("finalizer", "finalizer: %w", err)
	}
	t.finalizer.source = found
	return nil
}

// find returns the absolute path of a playbook or of a role.
func (e *Engine) find(dir, role, playbook string) (source, error) {
	if playbook != "" {
		path := placed(dir, playbook)
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return source{}, fmt.Errorf("the playbook %s does not exist", path)
		}
		return source{playbook: path}, nil
	}
	if role == "" {
		return source{}, errors.New("the name of the role is empty")
	}
	tried := e.candidates(dir, role)
	for _, path := range tried {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return source{role: path}, nil
		}
	}
	return source{}, fmt.Errorf("the role %s is not found: there is no directory %s", role, strings.Join(tried, " or "))
}

// candidates returns the directories in which a role may be.
func (e *Engine) candidates(dir, role string) []string {
	if filepath.IsAbs(role) {
		return []string{placed(dir, role)}
	}
	var paths []string
	if parts := strings.Split(role, "."); len(parts) == 3 && !strings.Contains(role, "/") {
		for _, root := range filepath.SplitList(e.collections(dir)) {
			paths = append(paths, filepath.Join(absolute(dir, root), "ansible_collections", parts[0], parts[1], "roles", parts[2]))
		}
		return append(paths, filepath.Join(debianPackages, "ansible_collections", parts[0], parts[1], "roles", parts[2]))
	}
	for _, root := range filepath.SplitList(cmp.Or(e.RolesPath, os.Getenv("ANSIBLE_ROLES_PATH"))) {
		paths = append(paths, filepath.Join(absolute(dir, root), role), filepath.Join(absolute(dir, root), "roles", role))
	}
	return append(paths, filepath.Join(dir, "roles", role))
}

// debianPackages is where Debian's package ansible installs collections.
const debianPackages = "/usr/lib/python3/dist-packages"

// roles returns the directories in which playbooks find roles, separated like PATH, or an empty string for the setting of the
// project's ansible.cfg. In the images of Operator SDK, it is the directory beside watches.yaml, too.
func (e *Engine) roles(dir string) string {
	list := cmp.Or(e.RolesPath, os.Getenv("ANSIBLE_ROLES_PATH"))
	if list == "" && !exists(filepath.Join(dir, "ansible.cfg")) {
		return filepath.Join(dir, "roles")
	}
	return list
}

// collections returns the directories in which collections are found, separated like PATH. The first is that of the project.
func (e *Engine) collections(dir string) string {
	list := cmp.Or(e.CollectionsPath, os.Getenv("ANSIBLE_COLLECTIONS_PATH"), os.Getenv("ANSIBLE_COLLECTIONS_PATHS"))
	if list == "" {
		list = "/usr/share/ansible/collections"
		if home, err := os.UserHomeDir(); err == nil {
			list += string(filepath.ListSeparator) + filepath.Join(home, ".ansible", "collections")
		}
	}
	return filepath.Join(dir, "collections") + string(filepath.ListSeparator) + list
}

// placed returns the absolute path of a role or playbook. Projects of Operator SDK may name the path in their image, where dir is
// imageDir.
func placed(dir, path string) string {
	if inside, ok := strings.CutPrefix(path, imageDir+"/"); ok && !exists(path) {
		return filepath.Join(dir, inside)
	}
	return absolute(dir, path)
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// environment applies the environment variables for a kind.
func (t *entry) environment() error {
	kind := strings.ToUpper(t.watch.Kind.Kind + "_" + strings.ReplaceAll(t.watch.Kind.Group, ".", "_"))
	for _, v := range []struct {
		name     string
		into     *int
		from, to int
	}{
		{"WORKER_", &t.workers, 1, 1 << 10}, {"MAX_CONCURRENT_RECONCILES_", &t.workers, 1, 1 << 10}, {"ANSIBLE_VERBOSITY_", &t.verbose, 0, 7},
	} {
		text := os.Getenv(v.name + kind)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < v.from || n > v.to {
			return fmt.Errorf("the environment variable %s is %q: want a number from %d to %d", v.name+kind, text, v.from, v.to)
		}
		*v.into = n
	}
	return nil
}

// exists reports whether a file exists.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
