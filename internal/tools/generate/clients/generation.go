package clients

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	applyargs "k8s.io/code-generator/cmd/applyconfiguration-gen/args"
	apply "k8s.io/code-generator/cmd/applyconfiguration-gen/generators"
	clientargs "k8s.io/code-generator/cmd/client-gen/args"
	client "k8s.io/code-generator/cmd/client-gen/generators"
	"k8s.io/code-generator/cmd/client-gen/generators/util"
	clienttypes "k8s.io/code-generator/cmd/client-gen/types"
	informerargs "k8s.io/code-generator/cmd/informer-gen/args"
	informer "k8s.io/code-generator/cmd/informer-gen/generators"
	listerargs "k8s.io/code-generator/cmd/lister-gen/args"
	lister "k8s.io/code-generator/cmd/lister-gen/generators"
	pluralutil "k8s.io/code-generator/pkg/util"
	"k8s.io/gengo/v2"
	"k8s.io/gengo/v2/generator"
	"k8s.io/gengo/v2/namer"
	"k8s.io/gengo/v2/parser"

	"github.com/operon-framework/operon/internal/tools/project"
)

// generation is one run of all generators.
type generation struct {
	in       Input
	versions []*version
	work     string // output directory of the generators
}

// Directories of the clients.
const (
	clientset = "clientset"
	versioned = "versioned"
	listers   = "listers"
	informers = "informers"
	applied   = "applyconfiguration"
)

// run loads the packages once, and runs one generator after the other on them.
func (g *generation) run(ctx context.Context) error {
	loaded := parser.NewWithOptions(parser.Options{BuildTags: []string{gengo.StdBuildTag}})
	var paths []string
	for _, v := range g.versions {
		paths = append(paths, v.path)
	}
	if err := loaded.LoadPackagesWithConfigForTesting(&packages.Config{Dir: g.in.Dir}, paths...); err != nil {
		return err
	}
	context, err := generator.NewContext(loaded, nil, "")
	if err != nil {
		return err
	}
	if err := g.tell(context); err != nil {
		return err
	}
	plurals := pluralutil.PluralExceptionListToMapOrDie(g.plurals())
	for _, one := range []struct {
		systems  namer.NameSystems
		standard string
		targets  func(*generator.Context) []generator.Target
	}{
		{apply.NameSystems(), apply.DefaultNameSystem(), g.apply},
		{client.NameSystems(plurals), client.DefaultNameSystem(), g.clientset},
		{lister.NameSystems(plurals), lister.DefaultNameSystem(), g.listers},
		{informer.NameSystems(plurals), informer.DefaultNameSystem(), g.informers},
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		orderer := namer.Orderer{Namer: one.systems[one.standard]}
		context.Namers, context.Order = one.systems, orderer.OrderUniverse(context.Universe)
		if err := context.ExecuteTargets(one.targets(context)); err != nil {
			return fmt.Errorf("generate clients: %w", err)
		}
	}
	return nil
}

func (g *generation) dir(parts ...string) string {
	return filepath.Join(append([]string{g.work}, parts...)...)
}

func (g *generation) pkg(parts ...string) string {
	return path.Join(append([]string{g.in.Module, g.in.Folder}, parts...)...)
}

func (g *generation) apply(context *generator.Context) []generator.Target {
	args := applyargs.New()
	args.OutputDir, args.OutputPkg = g.dir(applied), g.pkg(applied)
	return apply.GetTargets(context, args)
}

func (g *generation) clientset(context *generator.Context) []generator.Target {
	args := clientargs.New()
	args.OutputDir, args.OutputPkg = g.dir(clientset), g.pkg(clientset)
	args.ClientsetName = versioned
	args.ApplyConfigurationPackage = g.pkg(applied)
	args.PluralExceptions = g.plurals()
	for _, v := range g.versions {
		args.Groups = addTo(args.Groups, v)
	}
	return client.GetTargets(context, args)
}

// addTo adds a version to its group.
func addTo(groups []clienttypes.GroupVersions, v *version) []clienttypes.GroupVersions {
	one := clienttypes.PackageVersion{Version: clienttypes.Version(v.name), Package: v.path}
	for i := range groups {
		if groups[i].PackageName == v.parent() {
			groups[i].Versions = append(groups[i].Versions, one)
			return groups
		}
	}
	return append(groups, clienttypes.GroupVersions{PackageName: v.parent(), Group: clienttypes.Group(v.group), Versions: []clienttypes.PackageVersion{one}})
}

func (g *generation) listers(context *generator.Context) []generator.Target {
	args := listerargs.New()
	args.OutputDir, args.OutputPkg = g.dir(listers), g.pkg(listers)
	args.PluralExceptions = g.plurals()
	return lister.GetTargets(context, args)
}

func (g *generation) informers(context *generator.Context) []generator.Target {
	args := informerargs.New()
	args.OutputDir, args.OutputPkg = g.dir(informers), g.pkg(informers)
	args.VersionedClientSetPackage = g.pkg(clientset, versioned)
	args.ListersPackage = g.pkg(listers)
	args.PluralExceptions = g.plurals()
	return informer.GetTargets(context, args)
}

// plurals returns the plurals of all kinds as KIND:PLURAL, in a form that code-generator converts to lower case.
func (g *generation) plurals() []string {
	var all []string
	for _, kind := range g.in.Kinds {
		plural := strings.ToUpper(kind.Plural[:1]) + kind.Plural[1:]
		if rest, longer := strings.CutPrefix(kind.Plural, strings.ToLower(kind.Name)); longer {
			plural = kind.Name + rest
		}
		if pair := kind.Name + ":" + plural; !slices.Contains(all, pair) {
			all = append(all, pair)
		}
	}
	return all
}

// tell adds the properties of the kinds to the comments in which the generators look for them.
func (g *generation) tell(context *generator.Context) error {
	for _, v := range g.versions {
		loaded := context.Universe[v.path]
		if loaded == nil {
			return fmt.Errorf("%s: the package %s has nothing in it", v.folder, v.path)
		}
		loaded.Comments = append([]string{"+groupName=" + v.group}, without(loaded.Comments, "+groupName")...)
		for _, kind := range v.kinds {
			t := loaded.Types[kind.Name]
			if t == nil {
				return fmt.Errorf("%s: the type %s is left out by a build constraint: clients need it on this platform", kind.Place(), kind.Name)
			}
			if !kind.Has("genclient") {
				t.CommentLines = append(slices.Clone(t.CommentLines), tags(kind)...)
			}
		}
	}
	return nil
}

// markersOf returns errors about code-generator's markers above a kind, on which its generators would exit.
func markersOf(kind project.Kind) error {
	var problems []error
	for _, marker := range kind.Markers {
		if _, err := util.ParseClientGenTags([]string{"+" + marker.Text}); err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: +%s: %w", kind.File, marker.Line, marker.Text, err))
		}
	}
	return errors.Join(problems...)
}

func without(lines []string, marker string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), marker) })
}

// scaled is the marker of a client method for the scale of an object.
const scaled = "+genclient:method=%s,verb=%s,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale"

// tags returns the markers that code-generator needs instead of kubebuilder's markers.
func tags(kind project.Kind) []string {
	all := []string{"+genclient"}
	if kind.Cluster {
		all = append(all, "+genclient:nonNamespaced")
	}
	if !kind.Has("kubebuilder:subresource:status") {
		all = append(all, "+genclient:noStatus")
	}
	if kind.Has("kubebuilder:subresource:scale") {
		all = append(all, fmt.Sprintf(scaled, "GetScale", "get"), fmt.Sprintf(scaled, "UpdateScale", "update")+",input=k8s.io/api/autoscaling/v1.Scale")
	}
	return all
}
