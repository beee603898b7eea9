package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/removal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
	"github.com/operon-framework/operon/local"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DownOptions are the options of Down.
type DownOptions struct {
	// Dir is the project's directory.
	Dir string
	// Where is the cluster to remove it from. The zero value is the cluster of the last Run.
	Where Where
	// Default is the name of the local cluster for a project that has not run. The default is local.DefaultName.
	Default string
	// Timeout limits the whole operation. The default is DefaultTimeout.
	Timeout time.Duration
	// Out receives a line for each object that was removed.
	Out io.Writer
}

// Down removes from a cluster everything that Run created for a project, and all objects of the kinds that it defined: first
// admission policies and what makes API servers call the operator, which might reject the other deletions, custom resources and samples, then the kinds, the operator's
// access, and its namespace. If objects wait for finalizers, Down runs the operator that was built last until these objects
// are deleted.
func Down(ctx context.Context, options DownOptions) (err error) {
	name, dir, err := project.NameOf(options.Dir)
	if err != nil {
		return err
	}
	folder, err := openFolder(dir, "")
	if err != nil {
		return err
	}
	r := &remover{options: options, name: name, dir: dir, folder: folder}
	if err := r.down(ctx); err != nil {
		return firstOf(err, folder.close())
	}
	if r.elsewhere() {
		return folder.close()
	}
	return folder.remove()
}

// remover is the state of one Down.
type remover struct {
	options   DownOptions
	name, dir string
	folder    *folder
	// place is where the project ran last, or nil.
	place     *place
	target    *target
	inventory *inventory
	removal   *removal.Remover
	// unregistered means that what makes API servers call the operator was removed.
	unregistered bool
	// abandon, if set, is called after finalizers of an object were removed, which takes the place of running the operator.
	abandon func(object *unstructured.Unstructured, finalizers []string)
}

func (r *remover) down(ctx context.Context) error {
	where, err := r.where()
	if err != nil {
		return err
	}
	r.target, err = r.findTarget(ctx, where)
	if err == nil && r.options.Where == (Where{}) && r.place != nil && r.place.Server != "" && r.target.config.Host != r.place.Server {
		return fmt.Errorf("the context %q leads to %s now, but the project ran last at %s: select the cluster with --kubeconfig and --context", where.Context, r.target.config.Host, r.place.Server)
	}
	if errors.Is(err, errStopped) {
		r.say("nothing to remove: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	timeout := r.options.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	bounded, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done after %s", timeout))
	defer cancel()
	claim, err := newClaim(bounded, r.target, r.name, r.folder, r.say)
	if err != nil {
		return err
	}
	defer claim.end(ctx)
	claimed, lost := context.WithCancelCause(bounded)
	defer lost(nil)
	go claim.watch(claimed, r.target.title, lost)
	err = r.removeAll(claimed)
	if taken(claimed) {
		return context.Cause(claimed)
	}
	return err
}

// where returns the given cluster, or the cluster of the last Run.
func (r *remover) where() (Where, error) {
	var err error
	if r.place, err = r.folder.remembered(); err != nil {
		return Where{}, fmt.Errorf("read where the project ran last: %w; delete %s and select the cluster with --cluster or --kubeconfig", err, r.folder.where())
	}
	if r.options.Where != (Where{}) {
		return r.options.Where, nil
	}
	if r.place == nil {
		return Where{Name: r.options.Default}, nil
	}
	return r.place.Where, nil
}

// mainDir returns the directory of the main package of the last Run, or "" if the project has only one.
func (r *remover) mainDir() string {
	if r.place == nil {
		return ""
	}
	return r.place.Main
}

// elsewhere reports whether the user selected another cluster than that of the last Run, where a later Down has to remove what Run created.
func (r *remover) elsewhere() bool {
	if r.place == nil || r.options.Where == (Where{}) {
		return false
	}
	if r.options.Where.IsLocal() && r.place.IsLocal() {
		return cmp.Or(r.options.Where.Name, local.DefaultName) != cmp.Or(r.place.Name, local.DefaultName)
	}
	return r.place.Server == "" || r.target == nil || r.target.config.Host != r.place.Server
}

// findTarget finds the cluster. If the user named no cluster and the local one does not exist, nothing has to be removed.
func (r *remover) findTarget(ctx context.Context, where Where) (*target, error) {
	if !where.IsLocal() {
		return findTarget(ctx, where)
	}
	if where.Name == "" {
		where.Name = local.DefaultName
	}
	clusters, err := local.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, cluster := range clusters {
		if cluster.Name == where.Name {
			return findTarget(ctx, where)
		}
	}
	if r.options.Where.Name != "" {
		return nil, fmt.Errorf("unknown local cluster %q; `operon cluster list` lists the existing ones", where.Name)
	}
	return nil, fmt.Errorf("local cluster %q: %w", where.Name, errStopped)
}

// removeAll removes objects in order: first those that the operator has to finalize, then those that the operator needs for
// that.
func (r *remover) removeAll(ctx context.Context) error {
	var err error
	if r.inventory, err = takeInventory(ctx, r.target.config, r.name); err != nil {
		return err
	}
	if r.inventory.empty() {
		r.say("nothing to remove: %s has nothing that `operon up` created for %s", r.target.title, r.name)
		return nil
	}
	r.removal = &removal.Remover{
		Client: r.inventory.client,
		Gone:   func(object *unstructured.Unstructured) { r.say("removed %s", tree.Address(object)) },
	}
	// API servers notice the deletion of policies and webhooks with a delay.
	r.removal.Retry = func(err error) bool {
		return len(r.inventory.policies) > 0 && refusedByPolicy(err) || r.unregistered && strings.Contains(err.Error(), "failed calling webhook")
	}
	if err := r.removal.Remove(ctx, r.inventory.policies); err != nil {
		return err
	}
	if err := r.removeRegistrations(ctx); err != nil { // no operator runs that would answer when objects are deleted
		return err
	}
	if err := r.removeResources(ctx); err != nil {
		return err
	}
	if err := r.removeRegistrations(ctx); err != nil { // those of the operator that has run for the finalizers
		return err
	}
	for _, stage := range [][]*unstructured.Unstructured{r.inventory.samples, r.inventory.definitions, r.inventory.access, r.inventory.namespaces} {
		if err := r.removal.Remove(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

// removeRegistrations removes what makes API servers call the operator.
func (r *remover) removeRegistrations(ctx context.Context) error {
	registered, err := Registrations(ctx, r.inventory.client, r.name, r.name+identitySuffix, true, CallingKinds...)
	if err != nil {
		return err
	}
	r.unregistered = r.unregistered || len(registered) > 0
	return r.removal.Remove(ctx, registered)
}

func (r *remover) say(format string, args ...any) {
	fmt.Fprintf(r.options.Out, format+"\n", args...)
}
