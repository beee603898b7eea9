// Command olm is the lifecycle manager: it runs operators that are packaged as bundles for the Operator Lifecycle Manager.
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/aggregated"

	extensionv1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	packagesv1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
	"github.com/operon-framework/operon/internal/ship/image/pulled"
	"github.com/operon-framework/operon/olm/internal/catalogs"
	"github.com/operon-framework/operon/olm/internal/clustercatalog"
	"github.com/operon-framework/operon/olm/internal/csv"
	"github.com/operon-framework/operon/olm/internal/extension"
	"github.com/operon-framework/operon/olm/internal/group"
	"github.com/operon-framework/operon/olm/internal/installplan"
	"github.com/operon-framework/operon/olm/internal/packageserver"
	"github.com/operon-framework/operon/olm/internal/require"
	"github.com/operon-framework/operon/olm/internal/source"
	"github.com/operon-framework/operon/olm/internal/subscription"
)

//go:generate operon generate --max-description 0

func main() {
	if len(os.Args) == 3 && os.Args[1] == "project" {
		exitOn(writeProject(os.Args[2]))
		return
	}
	cache, err := cacheDir()
	exitOn(err)
	operon.Main("olm", options(cache, &csv.Composer{Clock: clock.RealClock{}}, os.Getenv("OLM_PACKAGE_MANIFESTS") != "false")...)
}

// exitOn ends the program if there is an error.
func exitOn(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "olm: %v\n", err)
		os.Exit(1)
	}
}

// globalNamespace is the namespace whose catalogs all namespaces can use.
const globalNamespace = "olm"

// options returns the options of the manager, with a directory for images. manifests reports whether it serves PackageManifests.
func options(cache string, csvs *csv.Composer, manifests bool) []operon.Option {
	server := &require.Server{}
	csvs.Cluster = server
	all := &catalogs.Catalogs{Images: pulled.New(cache, pulled.DefaultLimits)}
	poller := &catalogs.Poller{Clock: clock.RealClock{}, Catalogs: all}
	extensions := &extension.Composer{Clock: clock.RealClock{}, Catalogs: all, Cluster: server}
	plans := &installplan.Composer{Clock: clock.RealClock{}, Catalogs: all, Global: globalNamespace, Cluster: server}
	made := []operon.Option{
		operon.API(addToScheme),
		operon.Setup(server.Connect),
		operon.Setup(all.Connect),
		operon.Setup(poller.Connect),
		operon.Setup(plans.Connect),
		operon.Setup(csvs.Connect),
		operon.Setup(extensions.Connect),
		operon.Manage(&source.Composer{Clock: clock.RealClock{}, Catalogs: poller}),
		operon.Manage(&clustercatalog.Composer{Clock: clock.RealClock{}, Catalogs: poller}),
		operon.Manage(extensions),
		operon.Manage(plans),
		operon.Manage(&subscription.Composer{Clock: clock.RealClock{}, Catalogs: all, Global: globalNamespace}),
		operon.Setup(csv.SetupSweeper),
		operon.Manage(group.Composer{Clock: clock.RealClock{}}),
		operon.Setup(csv.SetupCopies),
		operon.Manage(csvs, operon.RetireFinalizers(v1alpha1.FinalizerOLM), operon.Selector(csv.Originals())),
	}
	if !manifests {
		return made
	}
	reader := &packageserver.Reader{Catalogs: all, Global: globalNamespace}
	return append(made,
		operon.Setup(reader.Connect),
		aggregated.ServeIfReachable(packagesv1.AddToScheme, aggregated.Kind(reader, reader.Resource())),
	)
}

// addToScheme registers the kinds that the manager serves and reads.
func addToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, v1.AddToScheme, v2.AddToScheme, extensionv1.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}
