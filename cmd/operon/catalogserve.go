package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/catalog/serve"
	"github.com/operon-framework/operon/internal/ship/catalog/store"
	"github.com/operon-framework/operon/local"
)

// gcPercent keeps the heap of a server small. Its queries leave little to collect.
const gcPercent = 40

// catalogServing is a call of operon catalog serve.
type catalogServing struct {
	grpc, http, cacheDir, terminationLog string
	cacheOnly                            bool
}

func newCatalogServe() *cobra.Command {
	how := catalogServing{}
	command := &cobra.Command{
		Use:   "serve DIR|FILE...",
		Short: "Serve a catalog",
		Long: `Serve the file-based catalog in directories and files: by gRPC, as the Operator Lifecycle Manager reads
it, and with --http also by HTTP, as its successor does: /api/v1/all and /api/v1/metas. By default,
only programs on this machine can connect.

Packages with problems are reported and left out, and the others are served. When files change, the
catalog is served as it is now, unless a package that is served has problems then.

The catalog is prepared once and kept in a cache on disk, so that the next start takes milliseconds.
--cache-only prepares it and ends, for example in the build of an image.`,
		Example: `  operon catalog serve catalog
  operon catalog serve catalog --grpc :50051 --http 127.0.0.1:8080
  operon catalog serve /configs --grpc :50051 --cache-dir /cache --termination-log /dev/termination-log`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("want directories or files with a catalog")}
			}
			return nil
		},
	}
	set := command.Flags()
	set.StringVar(&how.grpc, "grpc", "127.0.0.1:50051", "`ADDRESS` of the gRPC service; empty: none")
	set.StringVar(&how.http, "http", "", "`ADDRESS` of the HTTP service (default: none)")
	set.StringVar(&how.cacheDir, "cache-dir", "", "`DIR` of the cache, for this catalog alone (default: in Operon's home)")
	set.BoolVar(&how.cacheOnly, "cache-only", false, "prepare the cache, and serve nothing")
	set.StringVar(&how.terminationLog, "termination-log", "", "also write the error to `FILE`, which Kubernetes shows in the status of the pod")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := how.check(); err != nil {
			return usageError{err}
		}
		return how.logged(how.run(command, args))
	}
	return command
}

func (c catalogServing) check() error {
	if c.grpc == "" && c.http == "" && !c.cacheOnly {
		return errors.New("--grpc and --http are empty: want an address for one of them")
	}
	for flag, address := range map[string]string{"--grpc": c.grpc, "--http": c.http} {
		if address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("%s %s: want an address such as 127.0.0.1:50051", flag, address)
		}
	}
	return nil
}

// logged writes an error to the termination log, too.
func (c catalogServing) logged(err error) error {
	if err == nil || c.terminationLog == "" {
		return err
	}
	return errors.Join(err, os.WriteFile(c.terminationLog, []byte(err.Error()+"\n"), 0o644)) //nolint:gosec // Kubernetes reads it
}

func (c catalogServing) run(command *cobra.Command, sources []string) error {
	cache, err := c.cache(sources)
	if err != nil {
		return err
	}
	report := func(line string) { fmt.Fprintln(command.OutOrStdout(), line) }
	if c.cacheOnly {
		return fill(command.Context(), cache, report)
	}
	debug.SetGCPercent(gcPercent)
	server, err := serve.Listen(command.Context(), serve.Options{Cache: cache, GRPC: c.grpc, HTTP: c.http, Report: report})
	if err != nil {
		return err
	}
	if address := server.GRPC(); address != "" {
		report("gRPC on " + address)
	}
	if address := server.HTTP(); address != "" {
		report("HTTP on http://" + address + "/api/v1/all")
	}
	return server.Run(command.Context())
}

// cache returns the cache of the sources. Each set of sources has a directory of its own.
func (c catalogServing) cache(sources []string) (store.Options, error) {
	dir := c.cacheDir
	if dir == "" {
		var all []string
		for _, one := range sources {
			absolute, err := filepath.Abs(one)
			if err != nil {
				return store.Options{}, err
			}
			all = append(all, absolute)
		}
		sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
		var err error
		if dir, err = local.Folder("catalogs", hex.EncodeToString(sum[:8])); err != nil {
			return store.Options{}, err
		}
	}
	return store.Options{Sources: sources, Dir: dir}, nil
}

// fill builds the cache. Problems of packages are errors, because nobody would notice that they are not served.
func fill(ctx context.Context, cache store.Options, report func(string)) error {
	made, err := store.Open(ctx, cache)
	if err != nil {
		return err
	}
	packages, bundles := made.Size()
	report(fmt.Sprintf("%s, %s in %s", plural.Count(packages, "package"), plural.Count(bundles, "bundle"), cache.Dir))
	var problems []error
	for _, one := range made.Problems() {
		problems = append(problems, one)
	}
	return errors.Join(errors.Join(problems...), made.Close())
}
