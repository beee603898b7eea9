package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/operon-framework/operon/internal/ship/catalog/registry"
	"github.com/operon-framework/operon/internal/ship/catalog/store"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

const till = `---
{schema: olm.package, name: till, defaultChannel: stable}
---
{schema: olm.channel, package: till, name: stable, entries: [{name: till.v1.0.0}, {name: till.v1.1.0, replaces: till.v1.0.0}]}
---
{schema: olm.bundle, package: till, name: till.v1.0.0, image: "r.example.com/t:1", properties: [{type: olm.package, value: {packageName: till, version: 1.0.0}}]}
---
{schema: olm.bundle, package: till, name: till.v1.1.0, image: "r.example.com/t:2", properties: [{type: olm.package, value: {packageName: till, version: 1.1.0}},
  {type: olm.gvk, value: {group: shop.example.com, version: v1, kind: Till}}, {type: olm.csv.metadata, value: {displayName: Till}}]}
`

// running is a server of a test.
type running struct {
	*Server
	dir, cache string
	client     registry.RegistryClient
	conn       *grpc.ClientConn

	mu    sync.Mutex
	lines []string
	added chan struct{}
}

// run serves a catalog until the test ends.
func run(t *testing.T, files map[string]string) *running {
	t.Helper()
	r := &running{dir: t.TempDir(), cache: t.TempDir(), added: make(chan struct{}, 1)}
	for name, content := range files {
		testaid.Write(t, filepath.Join(r.dir, name), content)
	}
	var err error
	if r.Server, err = Listen(t.Context(), Options{
		Cache: store.Options{Sources: []string{r.dir}, Dir: r.cache}, GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Report: r.report,
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if r.conn, err = grpc.NewClient(r.GRPC(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	r.client = registry.NewRegistryClient(r.conn)
	t.Cleanup(func() {
		if err := r.conn.Close(); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *running) report(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	select {
	case r.added <- struct{}{}:
	default:
	}
}

// waitFor waits until the server reports a text.
func (r *running) waitFor(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		r.mu.Lock()
		lines := slices.Clone(r.lines)
		r.mu.Unlock()
		if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, text) }) {
			return
		}
		select {
		case <-r.added:
		case <-deadline:
			t.Fatalf("the server does not report %q, but %q", text, lines)
		}
	}
}

// received returns all messages of a stream, in a short form.
func received[M any](t *testing.T, stream grpc.ServerStreamingClient[M], err error, short func(*M) string) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			return append(all, status.Code(err).String())
		}
		all = append(all, short(message))
	}
}

func entry(e *registry.ChannelEntry) string {
	return fmt.Sprintf("%s %s %s %s", e.GetPackageName(), e.GetChannelName(), e.GetBundleName(), e.GetReplaces())
}

// A client that is generated from the definition of the service reads a catalog by each method.
func TestEachMethod(t *testing.T) {
	t.Parallel()
	r := run(t, map[string]string{"till.yaml": till, "safe.yaml": strings.ReplaceAll(till, "till", "safe")})
	ctx, c := t.Context(), r.client
	bundle := func(b *registry.Bundle, err error) []string {
		if err != nil {
			return []string{status.Code(err).String()}
		}
		return []string{fmt.Sprintf("%s %s %s %s %t", b.GetCsvName(), b.GetChannelName(), b.GetVersion(), b.GetBundlePath(), strings.Contains(b.GetCsvJson(), `"displayName":"Till"`))}
	}
	packages, err := c.ListPackages(ctx, &registry.ListPackageRequest{})
	all := received(t, packages, err, func(p *registry.PackageName) string { return p.GetName() })
	bundles, err := c.ListBundles(ctx, &registry.ListBundlesRequest{})
	listed := received(t, bundles, err, func(b *registry.Bundle) string { return b.GetCsvName() + " " + b.GetReplaces() + b.GetCsvJson() })
	replacing, err := c.GetChannelEntriesThatReplace(ctx, &registry.GetAllReplacementsRequest{CsvName: "till.v1.0.0"})
	replaced := received(t, replacing, err, entry)
	nothing, err := c.GetChannelEntriesThatReplace(ctx, &registry.GetAllReplacementsRequest{CsvName: "till.v1.1.0"})
	none := received(t, nothing, err, entry)
	providing, err := c.GetChannelEntriesThatProvide(ctx, &registry.GetAllProvidersRequest{Group: "shop.example.com", Version: "v1", Kind: "Till"})
	provided := received(t, providing, err, entry)
	latest, err := c.GetLatestChannelEntriesThatProvide(ctx, &registry.GetLatestProvidersRequest{Group: "shop.example.com", Version: "v1", Kind: "Till"})
	newest := received(t, latest, err, entry)
	p, err := c.GetPackage(ctx, &registry.GetPackageRequest{Name: "till"})
	if err != nil || p.GetDefaultChannelName() != "stable" || len(p.GetChannels()) != 1 || p.GetChannels()[0].GetCsvName() != "till.v1.1.0" {
		t.Errorf("GetPackage: %v, %v", p, err)
	}
	const head, old = "till.v1.1.0 stable 1.1.0 r.example.com/t:2 true", "till.v1.0.0 stable 1.0.0 r.example.com/t:1 false"
	for name, test := range map[string]struct{ got, want []string }{
		"ListPackages":                       {all, []string{"safe", "till"}},
		"ListBundles":                        {listed, []string{"safe.v1.0.0 ", "safe.v1.1.0 safe.v1.0.0", "till.v1.0.0 ", "till.v1.1.0 till.v1.0.0"}},
		"GetChannelEntriesThatReplace":       {replaced, []string{"till stable till.v1.1.0 till.v1.0.0"}},
		"nothing that replaces":              {none, []string{"NotFound"}},
		"GetChannelEntriesThatProvide":       {provided, []string{"safe stable safe.v1.1.0 safe.v1.0.0", "till stable till.v1.1.0 till.v1.0.0"}},
		"GetLatestChannelEntriesThatProvide": {newest, []string{"safe stable safe.v1.1.0 safe.v1.0.0", "till stable till.v1.1.0 till.v1.0.0"}},
		"GetBundle":                          {bundle(c.GetBundle(ctx, &registry.GetBundleRequest{PkgName: "till", ChannelName: "stable", CsvName: "till.v1.0.0"})), []string{old}},
		"no bundle":                          {bundle(c.GetBundle(ctx, &registry.GetBundleRequest{PkgName: "till", ChannelName: "stable", CsvName: "x"})), []string{"NotFound"}},
		"GetBundleForChannel":                {bundle(c.GetBundleForChannel(ctx, &registry.GetBundleInChannelRequest{PkgName: "till", ChannelName: "stable"})), []string{head}},
		"GetBundleThatReplaces":              {bundle(c.GetBundleThatReplaces(ctx, &registry.GetReplacementRequest{PkgName: "till", ChannelName: "stable", CsvName: "till.v1.0.0"})), []string{head}},
		"GetDefaultBundleThatProvides": {bundle(c.GetDefaultBundleThatProvides(ctx, &registry.GetDefaultProviderRequest{Group: "shop.example.com", Version: "v1", Kind: "Till"})),
			[]string{"safe.v1.1.0 stable 1.1.0 r.example.com/t:2 true"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: %q, want %q", name, test.got, test.want)
		}
	}
}

// Health is reported under the names by which clients ask, and the definition of the service can be read from the server.
func TestHealthAndReflection(t *testing.T) {
	t.Parallel()
	r := run(t, map[string]string{"till.yaml": till})
	for _, name := range []string{"", "Registry", "api.Registry"} {
		got, err := grpc_health_v1.NewHealthClient(r.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	stream, err := grpc_reflection_v1.NewServerReflectionClient(r.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "api.Registry"}}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if files := answer.GetFileDescriptorResponse().GetFileDescriptorProto(); err != nil || len(files) != 1 || !bytes.Contains(files[0], []byte("GetLatestChannelEntriesThatProvide")) {
		t.Errorf("the definition is %q, %v", files, err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
}

// asked sends a request and returns the response with its body.
func asked(t *testing.T, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	var large strings.Builder
	large.WriteString(till)
	for i := range 20 {
		fmt.Fprintf(&large, "---\n{schema: notes, name: note-%d, text: %s}\n", i, strings.Repeat("x", 100))
	}
	r := run(t, map[string]string{"till.yaml": large.String()})
	base := "http://" + r.HTTP() + "/api/v1/"
	whole, body := asked(t, http.MethodGet, base+"all")
	if whole.StatusCode != http.StatusOK || strings.Count(body, "\n") != 24 || whole.Header.Get("Content-Type") != "application/jsonl" || whole.Header.Get("Content-Encoding") != "" {
		t.Errorf("all: %s %v\n%s", whole.Status, whole.Header, body)
	}
	packed, content := asked(t, http.MethodGet, base+"all", "Accept-Encoding", "br, gzip;q=0.5")
	if packed.Header.Get("Content-Encoding") != "gzip" || unpacked(t, content) != body {
		t.Errorf("compressed: %v", packed.Header)
	}
	tag, modified := whole.Header.Get("Etag"), whole.Header.Get("Last-Modified")
	before := r.live.current.Modified().Add(-time.Hour).Format(http.TimeFormat)
	for name, test := range map[string]struct {
		method, path string
		header       []string
		code, lines  int
	}{
		"a package":          {http.MethodGet, "metas?package=till", nil, 200, 3},
		"of a schema":        {http.MethodGet, "metas?schema=olm.bundle&package=till", nil, 200, 2},
		"by name":            {http.MethodGet, "metas?schema=olm.package&name=till", nil, 200, 1},
		"small, compressed":  {http.MethodGet, "metas?schema=olm.package&name=till", []string{"Accept-Encoding", "gzip"}, 200, 1},
		"not compressed":     {http.MethodGet, "all", []string{"Accept-Encoding", "gzip;q=0"}, 200, 24},
		"nothing":            {http.MethodGet, "metas?name=none", nil, 200, 0},
		"no filter":          {http.MethodGet, "metas", nil, 200, 24},
		"unknown parameter":  {http.MethodGet, "metas?pkg=till", nil, 400, 1},
		"twice":              {http.MethodGet, "metas?name=a&name=b", nil, 400, 1},
		"not a query":        {http.MethodGet, "metas?name=%zz", nil, 400, 1},
		"head":               {http.MethodHead, "all", nil, 200, 0},
		"post":               {http.MethodPost, "all", nil, 405, 1},
		"delete":             {http.MethodDelete, "metas", nil, 405, 1},
		"elsewhere":          {http.MethodGet, "other", nil, 404, 1},
		"same tag":           {http.MethodGet, "all", []string{"If-None-Match", `"x", ` + tag}, 304, 0},
		"other tag":          {http.MethodGet, "all", []string{"If-None-Match", `W/"x"`, "If-Modified-Since", modified}, 200, 24},
		"not modified since": {http.MethodGet, "all", []string{"If-Modified-Since", modified}, 304, 0},
		"modified since":     {http.MethodGet, "all", []string{"If-Modified-Since", before}, 200, 24},
		"not a time":         {http.MethodGet, "all", []string{"If-Modified-Since", "x"}, 200, 24},
	} {
		response, body := asked(t, test.method, base+test.path, test.header...)
		if response.StatusCode != test.code || strings.Count(body, "\n") != test.lines || response.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %s %v\n%s", name, response.Status, response.Header, body)
		}
	}
}

func unpacked(t *testing.T, content string) string {
	t.Helper()
	reader, err := gzip.NewReader(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A changed catalog is served when its files are written. A change that breaks a package that is served is not, and is reported once.
func TestReload(t *testing.T) {
	t.Parallel()
	r := run(t, map[string]string{"till.yaml": till, "safe.yaml": strings.ReplaceAll(till, "till", "safe")})
	head := func() string {
		b, err := r.client.GetBundleForChannel(t.Context(), &registry.GetBundleInChannelRequest{PkgName: "till", ChannelName: "stable"})
		if err != nil {
			return err.Error()
		}
		return b.GetCsvName()
	}
	file := filepath.Join(r.dir, "till.yaml")
	testaid.Write(t, file, strings.ReplaceAll(till, "1.1.0", "1.2.0"))
	r.waitFor(t, "changed: 2 packages, 4 bundles")
	if got := head(); got != "till.v1.2.0" {
		t.Errorf("the head is %s", got)
	}
	testaid.Write(t, file, strings.Replace(till, ", replaces: till.v1.0.0", "", 1))
	r.waitFor(t, "the changed catalog is not served, because of problems with package till; it is served as it was")
	r.waitFor(t, "till.yaml:4:1: package till: channel stable has 2 heads")
	if got := head(); got != "till.v1.2.0" {
		t.Errorf("the head is %s", got)
	}
	testaid.Write(t, file, till)
	if err := os.Remove(filepath.Join(r.dir, "safe.yaml")); err != nil {
		t.Fatal(err)
	}
	r.waitFor(t, "changed: 1 package, 2 bundles")
	if got := head(); got != "till.v1.1.0" {
		t.Errorf("the head is %s", got)
	}
	testaid.Write(t, filepath.Join(r.dir, "z.json"), `{"schema": `)
	testaid.Write(t, file, "{")
	r.waitFor(t, "because of problems with the file "+file)
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	r.waitFor(t, "the catalog cannot be read: there is no directory or file "+r.dir)
	if got := head(); got != "till.v1.1.0" {
		t.Errorf("the head is %s", got)
	}
}

// A query that finds the cache damaged fails for now, and the cache is built again.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	r := run(t, map[string]string{"till.yaml": till})
	files, err := filepath.Glob(filepath.Join(r.cache, "*.*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[10] ^= 1
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if response, body := asked(t, http.MethodGet, "http://"+r.HTTP()+"/api/v1/metas?name=till.v1.1.0"); response.StatusCode != http.StatusOK || !strings.Contains(body, "Till") {
		t.Errorf("what is not damaged: %s\n%s", response.Status, body)
	}
	_, err = r.client.GetBundle(t.Context(), &registry.GetBundleRequest{PkgName: "till", ChannelName: "stable", CsvName: "till.v1.0.0"})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "it is being rebuilt, try again") {
		t.Errorf("the error is %v", err)
	}
	r.waitFor(t, "the cache is damaged and is built again")
	r.waitFor(t, "changed: 1 package, 2 bundles")
	if _, err := r.client.GetBundle(t.Context(), &registry.GetBundleRequest{PkgName: "till", ChannelName: "stable", CsvName: "till.v1.0.0"}); err != nil {
		t.Error(err)
	}
}

// damagedLive returns a catalog whose first JSON line is damaged.
func damagedLive(t *testing.T) *live {
	t.Helper()
	dir, cache := t.TempDir(), t.TempDir()
	testaid.Write(t, filepath.Join(dir, "till.yaml"), till+"---\n{schema: notes, text: "+strings.Repeat("x", minCompressed)+"}\n")
	s, err := store.Open(t.Context(), store.Options{Sources: []string{dir}, Dir: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	lines, err := filepath.Glob(filepath.Join(cache, "*.jsonl"))
	if err != nil || len(lines) != 1 {
		t.Fatalf("%q, %v", lines, err)
	}
	content, err := os.ReadFile(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-10] ^= 1
	if err := os.WriteFile(lines[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	return newLive(s)
}

// A response that has not begun is an error. One that has begun is cut off, and not complete for the client.
func TestDamageInHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHTTP(damagedLive(t)).Handler)
	defer server.Close()
	response, body := asked(t, http.MethodGet, server.URL+"/api/v1/metas?package=till")
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "1" || !strings.Contains(body, "the cache is corrupt") {
		t.Errorf("%s %v\n%s", response.Status, response.Header, body)
	}
	for _, encoding := range []string{"identity", "gzip"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/all", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", encoding)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			continue // the response was cut off before it was sent
		}
		if _, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("%s: the response is complete", encoding)
		}
		response.Body.Close()
	}
}

// A context may end before its server has begun to serve.
func TestStoppedBeforeItServes(t *testing.T) {
	t.Parallel()
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	stopGRPC(server)
	if err := serveGRPC(server, l); err != nil {
		t.Error(err)
	}
}

func TestListenRejects(t *testing.T) {
	t.Parallel()
	r := run(t, map[string]string{"till.yaml": till})
	cache := store.Options{Sources: []string{r.dir}, Dir: t.TempDir()}
	silent := func(string) {}
	for name, test := range map[string]struct {
		o    Options
		want string
	}{
		"no address":   {Options{Cache: cache}, "want an address for gRPC or HTTP"},
		"used by gRPC": {Options{Cache: cache, GRPC: r.GRPC()}, "address already in use; name another address"},
		"used by HTTP": {Options{Cache: cache, GRPC: "127.0.0.1:0", HTTP: r.HTTP()}, "address already in use; name another address"},
		"no catalog":   {Options{Cache: store.Options{Sources: []string{t.TempDir()}, Dir: t.TempDir()}, GRPC: "127.0.0.1:0"}, "has no catalog in it"},
		"nowhere":      {Options{Cache: store.Options{Sources: []string{"/nowhere"}, Dir: t.TempDir()}, GRPC: "127.0.0.1:0"}, "there is no directory or file /nowhere"},
	} {
		test.o.Report = silent
		if _, err := Listen(t.Context(), test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// A store that is replaced stays open for the queries that use it.
func TestQueriesKeepTheirStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testaid.Write(t, filepath.Join(dir, "till.yaml"), till)
	open := func() *store.Store {
		s, err := store.Open(t.Context(), store.Options{Sources: []string{dir}, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	l := newLive(open())
	newer := open()
	defer newer.Close()
	closed := make(chan error, 1)
	if err := l.use(func(s *store.Store) error {
		l.swap(newer, func(err error) { closed <- err })
		if s == l.current.Store {
			t.Error("the store is not replaced")
		}
		for range 500 { // closing it would take less time
			if _, err := s.Head("till", "stable"); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// Files count as changed when two looks find the same, and once. So does an error.
func TestWatched(t *testing.T) {
	t.Parallel()
	broken := errors.New("unreadable")
	w := watched{served: "a"}
	for i, look := range []struct {
		now  string
		err  error
		want finding
	}{
		{"a", nil, nothingNew}, {"a", nil, nothingNew},
		{"b", nil, nothingNew}, {"c", nil, nothingNew}, {"c", nil, changedFiles}, {"c", nil, nothingNew},
		{"", broken, unreadableFiles}, {"", broken, nothingNew}, {"c", nil, nothingNew}, {"", broken, unreadableFiles},
		{"d", nil, nothingNew}, {"d", nil, changedFiles}, {"d", nil, nothingNew},
	} {
		if got := w.next(look.now, look.err); got != look.want {
			t.Errorf("look %d: %s, want %s", i, got, look.want)
		}
	}
}
