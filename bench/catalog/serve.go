package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/operon-framework/operon/bench/internal/fbc"
	"github.com/operon-framework/operon/bench/internal/report"
	"github.com/operon-framework/operon/internal/ship/catalog/registry"
)

// build measures how the cache is built.
func build(ctx context.Context, binary, dir, cache string) ([]report.Figure, error) {
	command := exec.CommandContext(ctx, binary, "catalog", "serve", dir, "--cache-only", "--cache-dir", cache)
	command.Stderr = os.Stderr
	begin := time.Now()
	if err := command.Run(); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return nil, errors.New("this system does not report the memory of processes")
	}
	return []report.Figure{
		{Name: "build the cache", Operon: report.Seconds(took), Met: report.None},
		{Name: "… peak memory (resident)", Operon: report.Megabytes(usage.Maxrss * 1024), Met: report.None},
	}, nil
}

// server is the process that is measured.
type server struct {
	command   *exec.Cmd
	rpc, http string
}

func start(ctx context.Context, binary, dir, cache string) (*server, error) {
	s := &server{command: exec.CommandContext(ctx, binary, "catalog", "serve", dir, "--cache-dir", cache, "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")}
	s.command.Stderr = os.Stderr
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(out); s.http == "" && lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "gRPC on "); ok {
			s.rpc = address
		}
		if address, ok := strings.CutPrefix(lines.Text(), "HTTP on "); ok {
			s.http = strings.TrimSuffix(address, "all")
		}
	}
	if s.http == "" {
		return nil, errors.Join(errors.New("the server did not start"), s.stop())
	}
	return s, nil
}

func (s *server) stop() error {
	return errors.Join(s.command.Process.Signal(syscall.SIGTERM), s.command.Wait())
}

// serve measures a server with a warm cache.
func serve(ctx context.Context, binary, cache string, w workload, rounds int) (figures []report.Figure, err error) {
	begin := time.Now()
	s, err := start(ctx, binary, w.dir, cache)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	figures = append(figures, report.Figure{Name: "start of the process until it serves", Operon: report.Seconds(time.Since(begin)), Met: report.None})
	if err := wait(ctx, timing.startSettle); err != nil {
		return nil, err
	}
	idle, err := report.Usage(s.command.Process.Pid)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(s.rpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	c := client{registry.NewRegistryClient(conn), s.http, w}
	for _, query := range c.queries() {
		figure, err := measure(ctx, query, rounds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", query.name, err)
		}
		figures = append(figures, figure)
	}
	for _, query := range c.whole() {
		begin := time.Now()
		if err := query.ask(ctx, 0); err != nil {
			return nil, fmt.Errorf("%s: %w", query.name, err)
		}
		figures = append(figures, report.Figure{Name: query.name, Operon: report.Seconds(time.Since(begin)), Met: report.None})
	}
	busy, err := report.Usage(s.command.Process.Pid)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, timing.querySettle); err != nil {
		return nil, err
	}
	again, err := report.Usage(s.command.Process.Pid)
	if err != nil {
		return nil, err
	}
	return append(figures,
		memory("memory at rest, three seconds after the start (resident)", idle.Resident),
		memory("memory directly after all queries, without pages of the program file", busy.Resident-busy.Files),
		report.Figure{Name: "… with them (resident)", Operon: report.Megabytes(busy.Resident), Met: report.None},
		memory("memory twelve seconds after the queries (resident)", again.Resident),
	), nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func memory(name string, bytes int64) report.Figure {
	return report.Figure{Name: name, Operon: report.Megabytes(bytes), Goal: "≤ " + report.Megabytes(memoryGoal), Met: report.Judge(bytes <= memoryGoal)}
}

// query is a sort of queries. ask sends the nth.
type query struct {
	name string
	ask  func(ctx context.Context, n int) error
}

func measure(ctx context.Context, q query, rounds int) (report.Figure, error) {
	var took []time.Duration
	for n := range rounds + rounds/10 {
		begin := time.Now()
		if err := q.ask(ctx, n*7919); err != nil {
			return report.Figure{}, err
		}
		if n >= rounds/10 { // the first ones open connections
			took = append(took, time.Since(begin))
		}
	}
	slices.Sort(took)
	late := took[len(took)*99/100]
	return report.Figure{
		Name: q.name + ", median / p99", Operon: milliseconds(report.Median(took)) + " / " + milliseconds(late),
		Goal: "≤ " + report.Seconds(timing.queryGoal), Met: report.Judge(report.Median(took) <= timing.queryGoal),
	}, nil
}

// client asks a server.
type client struct {
	rpc  registry.RegistryClient
	http string
	workload
}

func (c client) queries() []query {
	of := func(n int) int { return n % c.packages }
	return []query{
		{"GetPackage", func(ctx context.Context, n int) error {
			_, err := c.rpc.GetPackage(ctx, &registry.GetPackageRequest{Name: fbc.PackageName(of(n))})
			return err
		}},
		{"GetBundle, with its CSV", func(ctx context.Context, n int) error {
			b, err := c.rpc.GetBundle(ctx, &registry.GetBundleRequest{PkgName: fbc.PackageName(of(n)), ChannelName: "stable", CsvName: fbc.BundleName(of(n), n%fbc.PerPackage)})
			if err == nil && len(b.GetCsvJson()) < 15_000 {
				return fmt.Errorf("the CSV has %d bytes", len(b.GetCsvJson()))
			}
			return err
		}},
		{"GetChannelEntriesThatReplace", func(ctx context.Context, n int) error {
			stream, err := c.rpc.GetChannelEntriesThatReplace(ctx, &registry.GetAllReplacementsRequest{CsvName: fbc.BundleName(of(n), n%(fbc.PerPackage-1))})
			return drained(stream, err, 2)
		}},
		{"GetLatestChannelEntriesThatProvide", func(ctx context.Context, n int) error {
			stream, err := c.rpc.GetLatestChannelEntriesThatProvide(ctx, &registry.GetLatestProvidersRequest{Group: fbc.Group, Version: "v1", Kind: fbc.KindName(of(n))})
			return drained(stream, err, 2)
		}},
		{"GetDefaultBundleThatProvides", func(ctx context.Context, n int) error {
			_, err := c.rpc.GetDefaultBundleThatProvides(ctx, &registry.GetDefaultProviderRequest{Group: fbc.Group, Version: "v1", Kind: fbc.KindName(of(n))})
			return err
		}},
		{"HTTP metas of a package's channels", func(ctx context.Context, n int) error {
			return c.get(ctx, "metas?schema=olm.channel&package="+fbc.PackageName(of(n)))
		}},
	}
}

// whole are queries for the whole catalog.
func (c client) whole() []query {
	return []query{
		{"ListBundles, all", func(ctx context.Context, _ int) error {
			stream, err := c.rpc.ListBundles(ctx, &registry.ListBundlesRequest{})
			return drained(stream, err, 2*fbc.PerPackage*c.packages)
		}},
		{"HTTP all", func(ctx context.Context, _ int) error { return c.get(ctx, "all") }},
		{"HTTP metas of schema olm.package", func(ctx context.Context, _ int) error { return c.get(ctx, "metas?schema=olm.package") }},
	}
}

// drained reads a stream to its end.
func drained[M any](stream grpc.ServerStreamingClient[M], err error, want int) error {
	for n := 0; err == nil; n++ {
		if _, err = stream.Recv(); errors.Is(err, io.EOF) {
			if n != want {
				return fmt.Errorf("%d messages, want %d", n, want)
			}
			return nil
		}
	}
	return err
}

func (c client) get(ctx context.Context, path string) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.http+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	n, err := io.Copy(io.Discard, response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || n == 0) {
		return fmt.Errorf("%s, %d bytes", response.Status, n)
	}
	return err
}
