package engine

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/operon-framework/operon"
)

// Engine creates composers from the entries of watches.yaml that it recognizes.
type Engine interface {
	// Name of the engine, for messages: one word in lower case.
	Name() string
	// Fields of an entry of watches.yaml that the engine reads, besides those of Watch.
	Fields() Fields
	// Load reads the files that an entry names. It connects to no cluster. Errors begin with the position in the file: see
	// Watch.Errorf.
	Load(watch *Watch) (Program, error)
}

// Fields are fields of an entry of watches.yaml.
type Fields struct {
	// Selecting contains the fields that select the engine: an entry has one of them. No two engines share one.
	Selecting []string
	// Others are the other fields.
	Others []string
	// Environment replaces $NAME and ${NAME} by environment variables in the values of all fields.
	Environment bool
}

// Program is an entry of watches.yaml, ready to run.
type Program struct {
	// Composer declares the children of the objects. It may have any further methods that package operon calls.
	Composer operon.Composer[*Object]
	// Options contains the options that the engine needs in addition to the kind and the options of Watch.
	Options []operon.ManageOption
	// Setup runs before the operator starts. It may be nil.
	Setup operon.Option
	// Files are the files and directories that the program reads, besides watches.yaml: an image needs them.
	Files []string
	// Image is what else an image needs.
	Image Image
}

// Image describes the container image of a program.
type Image struct {
	// Dir is the directory of watches.yaml and of the files that it names. It is the same as in the images of the tool whose
	// projects the engine runs, so that absolute paths in them remain valid.
	Dir string
	// Packages are Debian packages that the program needs. If there are none, the image has no executable but the operator.
	Packages []string
	// Needs returns an error if a file of the image is missing that the program needs. Has reports whether the image has a
	// path, which is relative to its root. Needs may be nil.
	Needs func(has func(path string) bool) error
}

// Options returns the parts of an operator that manage the kinds of watches.
func Options(watches []*Watch) ([]operon.Option, error) {
	programs, err := Programs(watches)
	if err != nil {
		return nil, err
	}
	var options []operon.Option
	for i, watch := range watches {
		options = append(options, watch.options(programs[i])...)
	}
	return options, nil
}

// Programs returns the programs of watches.
func Programs(watches []*Watch) ([]Program, error) {
	var programs []Program
	var errs []error
	for _, watch := range watches {
		program, err := watch.engine.Load(watch)
		programs, errs = append(programs, program), append(errs, err)
	}
	return programs, errors.Join(errs...)
}

func (w *Watch) options(program Program) []operon.Option {
	settings := append([]operon.ManageOption{operon.Kind(w.Kind)}, program.Options...)
	if w.Selector != nil {
		settings = append(settings, operon.Selector(w.Selector))
	}
	if w.MaxConcurrentReconciles > 0 {
		settings = append(settings, operon.Concurrency(w.MaxConcurrentReconciles))
	}
	options := []operon.Option{operon.API(w.register), operon.Manage(program.Composer, settings...)}
	if program.Setup != nil {
		options = append(options, program.Setup)
	}
	return options
}

// register adds the kind of the watch to the scheme of an operator.
func (w *Watch) register(scheme *runtime.Scheme) error {
	if clientgoscheme.Scheme.Recognizes(w.Kind) {
		return w.Errorf("kind", "%s is built into Kubernetes: the %s engine manages custom resources only", w.Kind.Kind, w.engine.Name())
	}
	if scheme.Recognizes(w.Kind) {
		return w.Errorf("kind", "%s is also managed by a composer in Go: each kind has one", w.Kind.Kind)
	}
	register(scheme, w.Kind)
	return nil
}

// Engine returns the name of the engine of a watch.
func (w *Watch) Engine() string { return w.engine.Name() }

// unknown returns the error for an entry that no engine recognizes. It names the entry's own fields, one of which may be misspelled.
func (w *Watch) unknown(engines []Engine) error {
	var fields []string
	for _, e := range engines {
		fields = append(fields, e.Fields().Selecting...)
	}
	own := strings.Join(slices.Sorted(maps.Keys(w.fields)), ", ")
	return w.Errorf("", "no engine recognizes the entry, which has the fields %s: it needs one of %s", own, strings.Join(fields, ", "))
}
