// Package packageserver serves PackageManifests: the packages of the catalogs that a namespace can use, which are its own and those of the
// global namespace. [Reader] answers for package aggregated. Lists are made of the catalogs in memory, and a watch compares what its namespace
// sees before and after each change of a catalog or a CatalogSource.
package packageserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/aggregated"

	v1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
	operatorsv1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// Reader returns the PackageManifests of a namespace. It implements aggregated.Reader and aggregated.Watcher.
type Reader struct {
	Catalogs *catalogs.Catalogs
	// Global is the namespace whose catalogs all namespaces can use.
	Global string

	manager   ctrl.Manager
	sources   client.Reader
	installed installed
	failed    sync.Map // the keys of the catalogs that could not be read when this replica tried it last

	mu      sync.Mutex
	changed chan struct{} // closed at the next change of a catalog
}

// Resource returns how PackageManifests are served.
func (r *Reader) Resource() aggregated.Resource[*v1.PackageManifest] {
	return aggregated.Resource[*v1.PackageManifest]{
		Plural: "packagemanifests",
		Columns: []aggregated.Column[*v1.PackageManifest]{
			{Name: "Catalog", Of: func(one *v1.PackageManifest) any { return one.Status.CatalogSourceDisplayName }},
			{Name: "Installed", Of: func(one *v1.PackageManifest) any { return shown(one.Status.Installed) }},
		},
		Contents: map[string]func(context.Context, client.ObjectKey) (*aggregated.Content, error){"icon": r.icon},
	}
}

// Connect gives the reader the CatalogSources of a manager, and what is installed.
func (r *Reader) Connect(manager ctrl.Manager) error {
	r.manager, r.sources = manager, manager.GetClient()
	r.Catalogs.OnChange(r.wake)
	always := func(any) bool { return true }
	for _, one := range []struct {
		of            client.Object
		changed, gone func(any) bool
	}{
		{&v1alpha1.CatalogSource{}, always, r.gone},
		{&v1alpha1.ClusterServiceVersion{}, r.installed.version, r.installed.noVersion},
		{&operatorsv1.OperatorGroup{}, r.installed.group, r.installed.noGroup},
	} {
		informer, err := manager.GetCache().GetInformer(context.Background(), one.of)
		if err != nil {
			return fmt.Errorf("watch %T: %w", one.of, err)
		}
		wake := func(told func(any) bool) func(any) {
			return func(object any) {
				if told(object) {
					r.wake()
				}
			}
		}
		changed := wake(one.changed)
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: wake(one.gone),
		}); err != nil {
			return err
		}
	}
	return manager.Add(r)
}

// next returns a channel that is closed at the next change.
func (r *Reader) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// wake reports a change.
func (r *Reader) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Get implements aggregated.Reader. Of several catalogs with the package, those of the namespace come first, and then those of higher priority.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey) (*v1.PackageManifest, error) {
	sources, err := r.visible(ctx, key.Namespace)
	if err != nil {
		return nil, err
	}
	missing := aggregated.ErrNotFound
	for i := range sources {
		loaded, err := r.loaded(&sources[i])
		if err != nil {
			missing = err // another catalog may have the package
		}
		if loaded == nil {
			continue
		}
		if found := loaded.Manifest(key.Name); found != nil {
			return found.In(&sources[i], key.Namespace, r.installed.in(key.Namespace)[key.Name]), nil
		}
	}
	return nil, missing
}

// List implements aggregated.Reader. A package that several catalogs have is listed for each of them.
func (r *Reader) List(ctx context.Context, namespace string) ([]*v1.PackageManifest, error) {
	sources, err := r.visible(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var all []*v1.PackageManifest
	for i := range sources {
		loaded, err := r.loaded(&sources[i])
		if err != nil {
			return nil, err
		}
		if loaded == nil {
			continue
		}
		installed := r.installed.in(cmp.Or(namespace, sources[i].Namespace))
		for _, one := range loaded.Manifests() {
			all = append(all, one.In(&sources[i], namespace, installed[one.Status.PackageName]))
		}
	}
	return all, nil
}

// loaded returns what was read of a catalog, or nil if it cannot be read. That this manager has not read it yet does not mean that it has no packages.
func (r *Reader) loaded(of *v1alpha1.CatalogSource) (*catalogs.Loaded, error) {
	loaded := r.Catalogs.Of(of)
	_, failed := r.failed.Load(client.ObjectKeyFromObject(of))
	// One that is paused may have been read by an earlier leader alone.
	if loaded == nil && isReady(of) && !failed && of.Annotations[annotationPaused] != "true" {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("this replica of the lifecycle manager has not read the catalog %s/%s yet: try again in a moment", of.Namespace, of.Name))
	}
	return loaded, nil
}

// visible returns the catalogs that a namespace can use: its own and the global ones, or all for all namespaces.
func (r *Reader) visible(ctx context.Context, namespace string) ([]v1alpha1.CatalogSource, error) {
	var all v1alpha1.CatalogSourceList
	if err := r.sources.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list CatalogSources: %w", err)
	}
	found := slices.DeleteFunc(all.Items, func(one v1alpha1.CatalogSource) bool {
		return namespace != "" && one.Namespace != namespace && one.Namespace != r.Global
	})
	slices.SortFunc(found, func(a, b v1alpha1.CatalogSource) int {
		if own := a.Namespace == namespace; own != (b.Namespace == namespace) {
			if own {
				return -1
			}
			return 1
		}
		if a.Spec.Priority != b.Spec.Priority {
			return b.Spec.Priority - a.Spec.Priority
		}
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return found, nil
}

// Watch implements aggregated.Watcher. After each change of a catalog, what the namespace sees is compared with what it saw before.
func (r *Reader) Watch(ctx context.Context, namespace string, listener aggregated.Listener[*v1.PackageManifest]) error {
	next := r.next()
	known, err := r.byUID(ctx, namespace)
	if err != nil {
		return err
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-next:
			}
			next = r.next()
			now, err := r.byUID(ctx, namespace)
			if apierrors.IsServiceUnavailable(err) {
				continue // the catalog will be read, which is a change
			}
			if err != nil {
				listener.Ended(err)
				return
			}
			report(known, now, listener)
			known = now
		}
	}()
	return nil
}

func (r *Reader) byUID(ctx context.Context, namespace string) (map[types.UID]*v1.PackageManifest, error) {
	all, err := r.List(ctx, namespace)
	found := map[types.UID]*v1.PackageManifest{}
	for _, one := range all {
		found[one.UID] = one
	}
	return found, err
}

func report(before, now map[types.UID]*v1.PackageManifest, listener aggregated.Listener[*v1.PackageManifest]) {
	for uid, one := range before {
		if now[uid] == nil {
			listener.Gone(one)
		}
	}
	for uid, one := range now {
		if old := before[uid]; old == nil || old.ResourceVersion != one.ResourceVersion {
			listener.Changed(one.DeepCopy()) // the listener owns it, and the next comparison needs this one
		}
	}
}
