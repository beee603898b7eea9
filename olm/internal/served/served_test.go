package served_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/registry"
	"github.com/operon-framework/operon/internal/ship/catalog/serve"
	"github.com/operon-framework/operon/internal/ship/catalog/store"
	"github.com/operon-framework/operon/internal/testing/testaid"

	"github.com/operon-framework/operon/internal/ship/image/pulled"
	"github.com/operon-framework/operon/olm/internal/served"
)

const shop = `---
{schema: olm.package, name: till, defaultChannel: stable}
---
{schema: olm.channel, package: till, name: stable, entries: [{name: till.v1.0.0}, {name: till.v1.2.0, replaces: till.v1.0.0, skips: [till.v1.1.0], skipRange: "<1.2.0"}]}
---
{schema: olm.channel, package: till, name: alpha, entries: [{name: till.v1.2.0}]}
---
{schema: olm.bundle, package: till, name: till.v1.0.0, image: "r.example.com/t:1", properties: [{type: olm.package, value: {packageName: till, version: 1.0.0}}]}
---
{schema: olm.bundle, package: till, name: till.v1.2.0, image: "r.example.com/t:2", properties: [{type: olm.package, value: {packageName: till, version: 1.2.0}},
  {type: olm.gvk, value: {group: shop.example.com, version: v1, kind: Till}}, {type: olm.gvk.required, value: {group: shop.example.com, version: v1, kind: Drawer}},
  {type: olm.package.required, value: {packageName: drawer, versionRange: ">=1.0.0"}}, {type: olm.constraint, value: {failureMessage: no, package: {packageName: drawer, versionRange: "<2.0.0"}}}]}
---
{schema: olm.deprecations, package: till, entries: [{reference: {schema: olm.package}, message: sold out}, {reference: {schema: olm.channel, name: alpha}, message: use stable},
  {reference: {schema: olm.bundle, name: till.v1.0.0}, message: use 1.2.0}]}
---
{schema: olm.package, name: drawer, defaultChannel: stable}
---
{schema: olm.channel, package: drawer, name: stable, entries: [{name: drawer.v1.0.0}]}
---
{schema: olm.bundle, package: drawer, name: drawer.v1.0.0, image: "", properties: [{type: olm.package, value: {packageName: drawer, version: 1.0.0}},
  {type: olm.bundle.object, value: {data: eyJraW5kIjoiQ2x1c3RlclNlcnZpY2VWZXJzaW9uIiwibWV0YWRhdGEiOnsibmFtZSI6ImRyYXdlci52MS4wLjAifX0=}},
  {type: olm.bundle.object, value: {data: eyJraW5kIjoiQ29uZmlnTWFwIiwibWV0YWRhdGEiOnsibmFtZSI6ImRyYXdlciJ9fQ==}}]}
`

var limits = served.Limits{Message: 1 << 20, Total: 1 << 20, Count: 100, Dial: pulled.Dial}

// start serves a catalog until the test ends, and returns the address.
func start(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	testaid.Write(t, filepath.Join(dir, "catalog.yaml"), text)
	server, err := serve.Listen(t.Context(), serve.Options{Cache: store.Options{Sources: []string{dir}, Dir: t.TempDir()}, GRPC: "127.0.0.1:0", Report: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server.GRPC()
}

// read reads the catalog of a server, and returns its packages.
func read(t *testing.T, address string) (digest string, packages []*catalog.Package) {
	t.Helper()
	dir := t.TempDir()
	digest, err := served.Read(t.Context(), address, dir, limits)
	if err != nil {
		t.Fatal(err)
	}
	return digest, open(t, dir)
}

func open(t *testing.T, dir string) (packages []*catalog.Package) {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Options{Sources: []string{dir}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, problem := range opened.Problems() {
		t.Errorf("the catalog has the problem %s", problem)
	}
	for _, name := range opened.PackageNames() {
		one, err := opened.Content(name)
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, one)
	}
	return packages
}

// text returns what a resolution and an installation need of packages, in a fixed order.
func text(packages []*catalog.Package) string {
	var all []string
	add := func(kind string, value any) {
		content, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		all = append(all, kind+" "+string(content))
	}
	for _, p := range packages {
		add("package", []string{p.Name, p.DefaultChannel})
		for _, channel := range p.Channels {
			entries := slices.Clone(channel.Entries)
			slices.SortFunc(entries, func(a, b catalog.Entry) int { return strings.Compare(a.Name, b.Name) })
			add("channel", []any{p.Name, channel.Name, entries})
		}
		for _, bundle := range p.Bundles {
			properties := sets.New[string]()
			for _, one := range bundle.Properties {
				var value any
				if err := json.Unmarshal(one.Value, &value); err != nil {
					panic(err)
				}
				content, err := json.Marshal(value)
				if err != nil {
					panic(err)
				}
				properties.Insert(one.Type + string(content))
			}
			add("bundle", []any{p.Name, bundle.Name, bundle.Image, sets.List(properties)})
		}
		for _, one := range p.Deprecations {
			add("deprecation", []any{p.Name, one.Reference, one.Message})
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// What is read from a server is what the server has, with entries, properties, objects and deprecations. The digest follows the content, and not
// the order.
func TestRead(t *testing.T) {
	t.Parallel()
	digest, got := read(t, start(t, shop))
	dir := t.TempDir()
	testaid.Write(t, filepath.Join(dir, "catalog.yaml"), shop)
	if want := text(open(t, dir)); text(got) != want {
		t.Errorf("the catalog is\n%s\nwant\n%s", text(got), want)
	}
	documents := strings.Split(strings.TrimPrefix(shop, "---\n"), "---\n")
	slices.Reverse(documents)
	if other, _ := read(t, start(t, strings.Join(documents, "---\n"))); other != digest {
		t.Errorf("in another order, the digest is %s, want %s", other, digest)
	}
	if other, _ := read(t, start(t, strings.Replace(shop, "r.example.com/t:2", "r.example.com/t:3", 1))); other == digest {
		t.Error("another catalog has the same digest")
	}
}

// fake is a server that answers what a test wants.
type fake struct {
	registry.UnimplementedRegistryServer
	bundles  []*registry.Bundle
	packages map[string]*registry.Package
	fails    codes.Code
}

func (f *fake) ListPackages(_ *registry.ListPackageRequest, stream grpc.ServerStreamingServer[registry.PackageName]) error {
	for name := range f.packages {
		if err := stream.Send(&registry.PackageName{Name: name}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) ListBundles(_ *registry.ListBundlesRequest, stream grpc.ServerStreamingServer[registry.Bundle]) error {
	for _, one := range f.bundles {
		if err := stream.Send(one); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) GetPackage(_ context.Context, r *registry.GetPackageRequest) (*registry.Package, error) {
	return f.packages[r.GetName()], nil
}

func (f *fake) GetBundle(context.Context, *registry.GetBundleRequest) (*registry.Bundle, error) {
	return nil, status.Error(f.fails, "no such file")
}

func startFake(t *testing.T, f *fake) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	registry.RegisterRegistryServer(server, f)
	go server.Serve(listener) //nolint:errcheck // it is stopped
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// Servers of older catalogs have versions, kinds and dependencies only in fields of their own.
func TestOlderServers(t *testing.T) {
	t.Parallel()
	address := startFake(t, &fake{
		packages: map[string]*registry.Package{"till": {Name: "till", DefaultChannelName: "stable", Channels: []*registry.Channel{{Name: "stable", CsvName: "till.v1.0.0"}}}},
		bundles: []*registry.Bundle{{
			CsvName: "till.v1.0.0", PackageName: "till", ChannelName: "stable", BundlePath: "r.example.com/t:1", Version: "1.0.0",
			ProvidedApis: []*registry.GroupVersionKind{{Group: "shop.example.com", Version: "v1", Kind: "Till", Plural: "tills"}},
			Properties:   []*registry.Property{{Type: "olm.gvk", Value: `{"group":"shop.example.com","kind":"Till","version":"v1"}`}, {Type: "note", Value: "not JSON"}},
			RequiredApis: []*registry.GroupVersionKind{{Group: "shop.example.com", Version: "v1", Kind: "Drawer", Plural: "drawers"}},
			Dependencies: []*registry.Dependency{
				{Type: "olm.gvk", Value: `{"group":"shop.example.com","version":"v1","kind":"Drawer"}`},
				{Type: "olm.package", Value: `{"packageName":"drawer","version":">=1.0.0"}`},
				{Type: "olm.label", Value: `{"label":"fast"}`},
				{Type: "olm.constraint", Value: `{"failureMessage":"no","cel":{"rule":"true"}}`},
			},
		}},
	})
	_, packages := read(t, address)
	want := `bundle ["till","till.v1.0.0","r.example.com/t:1",["note\"not JSON\"","olm.constraint{\"cel\":{\"rule\":\"true\"},\"failureMessage\":\"no\"}",` +
		`"olm.gvk.required{\"group\":\"shop.example.com\",\"kind\":\"Drawer\",\"version\":\"v1\"}","olm.gvk{\"group\":\"shop.example.com\",\"kind\":\"Till\",\"version\":\"v1\"}",` +
		`"olm.label.required{\"label\":\"fast\"}","olm.package.required{\"packageName\":\"drawer\",\"versionRange\":\"\\u003e=1.0.0\"}","olm.package{\"packageName\":\"till\",\"version\":\"1.0.0\"}"]]`
	if got, _, _ := strings.Cut(text(packages), "\n"); got != want {
		t.Errorf("the bundle is\n%s\nwant\n%s", got, want)
	}
}

// A bundle that a server cannot read is missing in its package, which is named. The rest of the catalog is read. A server that does not work
// leaves nothing.
func TestBundleThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := &fake{
		packages: map[string]*registry.Package{}, fails: codes.Internal,
		bundles: []*registry.Bundle{
			{CsvName: "till.v1.0.0", PackageName: "till", ChannelName: "stable", Version: "1.0.0"},
			{CsvName: "drawer.v1.0.0", PackageName: "drawer", ChannelName: "stable", Version: "1.0.0", BundlePath: "r.example.com/d:1"},
		},
	}
	for _, name := range []string{"till", "drawer"} {
		f.packages[name] = &registry.Package{Name: name, DefaultChannelName: "stable", Channels: []*registry.Channel{{Name: "stable", CsvName: name + ".v1.0.0"}}}
	}
	dir := t.TempDir()
	if _, err := served.Read(t.Context(), startFake(t, f), dir, limits); err != nil {
		t.Fatal(err)
	}
	opened, err := store.Open(t.Context(), store.Options{Sources: []string{dir}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if names := opened.PackageNames(); !slices.Equal(names, []string{"drawer"}) {
		t.Errorf("the packages are %v", names)
	}
	if all := opened.Problems(); len(all) != 1 || all[0].Package != "till" || !strings.Contains(all[0].Message, "bundle till.v1.0.0 has neither an image nor") {
		t.Errorf("the problems are %v", all)
	}
	f.fails = codes.Unavailable
	_, err = served.Read(t.Context(), startFake(t, f), t.TempDir(), limits)
	if err == nil || !strings.Contains(err.Error(), "GetBundle: no such file (Unavailable)") {
		t.Errorf("the error is %v", err)
	}
}

// Too much of anything, and addresses that lead elsewhere, are refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	address := start(t, shop)
	small, few, short := limits, limits, limits
	small.Total, few.Count, short.Message = 500, 1, 100
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := silent.Addr().String()
	if err := silent.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		address string
		limits  served.Limits
		want    string
	}{
		"size":       {address, small, "the catalog is too large"},
		"count":      {address, few, "ListPackages: it has more than 1 entries"},
		"message":    {address, short, "received message larger than max"},
		"closed":     {closed, limits, "connection refused"},
		"link-local": {"169.254.169.254:80", limits, "169.254.169.254 is no address of a registry or a catalog"},
		"no port":    {"catalog.olm.svc", limits, "is not a host and a port"},
		"socket":     {"unix:///run/secret.sock", limits, "is not a host and a port"},
	} {
		_, err := served.Read(t.Context(), c.address, t.TempDir(), c.limits)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one with %q", name, err, c.want)
		}
	}
}

// The answer of an address that is not a catalog does not get into the error, which users see in a status.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("the password is abc"))
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	_, err = served.Read(t.Context(), listener.Addr().String(), t.TempDir(), limits)
	if err == nil || !strings.Contains(err.Error(), "content-type") || strings.Contains(err.Error(), "password") {
		t.Errorf("the error is %v", err)
	}
}

// The file is written for this user alone.
func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := served.Read(t.Context(), start(t, shop), dir, limits); err != nil {
		t.Fatal(err)
	}
	about, err := os.Stat(filepath.Join(dir, "catalog.json"))
	if err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", fmt.Sprint(about.Mode()), err)
	}
}
