// Command dist builds the release archives of Operon: for each platform, an archive with all programs, their SBOMs, licenses and notices,
// and completions for shells, and a file with the checksums of all archives. The same commit, the same tags and the same version of Go
// result in the same archives, whatever the settings of the go command are.
//
//	go run ./internal/ship/dist                             # every platform, half an hour on two cores with an empty build cache
//	go run ./internal/ship/dist --platforms linux/amd64
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/module"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/git"
)

// checksums is the file with the SHA-256 of each archive, as sha256sum writes and checks it.
const checksums = "SHA256SUMS"

// programs are the programs of a release, by the directories of their modules.
var programs = []program{
	{name: "operon", module: ".", main: "./cmd/operon"},
	{name: "operon-engine", module: ".", main: "./cmd/operon-engine"},
	{name: "operon-cluster", module: "cluster", main: "./cmd/operon-cluster"},
	{name: "operon-node", module: "cluster", main: "./cmd/operon-node", system: "linux"},
	{name: "operon-olm", module: "olm", main: "."},
}

// completions are the files of the shells' completions, by shell.
var completions = map[string]string{"bash": "operon.bash", "zsh": "_operon", "fish": "operon.fish"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	out := flag.String("out", filepath.Join("bin", "dist"), "directory of the archives")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "platforms to build for, separated by commas")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; platforms are separated by commas", flag.Arg(0))
	}
	chosen, err := parse(ctx, *platforms)
	if err != nil {
		return err
	}
	r := &release{
		programs: programs, out: *out,
		tell: func(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) },
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for _, p := range chosen {
		if err := r.archive(ctx, p); err != nil {
			return fmt.Errorf("%s/%s: %w", p.system, p.architecture, err)
		}
	}
	return r.sum()
}

// parse reads a list of platforms, before anything is built for the first of them.
func parse(ctx context.Context, names string) ([]platform, error) {
	said, err := output(ctx, ".", nil, "go", "tool", "dist", "list")
	if err != nil {
		return nil, err
	}
	known := strings.Fields(string(said))
	var all []platform
	for name := range strings.SplitSeq(names, ",") {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("--platforms: %q is no platform of Go; `go tool dist list` lists them", name)
		}
		system, architecture, _ := strings.Cut(name, "/")
		all = append(all, platform{system, architecture})
	}
	return all, nil
}

// prepare reads what is the same on every platform: the version, the time of the sources, and some files.
func (r *release) prepare(ctx context.Context) (err error) {
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return fmt.Errorf("%w: run dist in the repository's directory", err)
	}
	r.common = []file{{path: "LICENSE", content: license}}
	if r.modified, err = sourceTime(ctx); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "operon-dist-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	operon := filepath.Join(work, "operon")
	r.tell("building operon for this machine, for its version and completions")
	info, err := compile(ctx, platform{runtime.GOOS, runtime.GOARCH}, programs[0], operon)
	if err != nil {
		return err
	}
	if r.version = info.Main.Version; !strings.HasPrefix(r.version, "v") {
		return fmt.Errorf("the version of the sources is unknown (%s): build from a git repository", r.version)
	}
	if module.IsPseudoVersion(strings.TrimSuffix(r.version, "+dirty")) {
		r.tell("%s is not a release: for projects in Go, `operon init` of these programs needs --operon", r.version)
	}
	if strings.HasSuffix(r.version, "+dirty") {
		r.tell("the working tree has changes, so that these archives cannot be built again")
	}
	for shell, name := range completions {
		script, err := output(ctx, ".", nil, operon, "completion", shell)
		if err != nil {
			return err
		}
		r.common = append(r.common, file{path: "completions/" + name, content: script})
	}
	return nil
}

// sourceTime returns the time of the files in an archive: $SOURCE_DATE_EPOCH, or else that of the commit.
func sourceTime(ctx context.Context) (time.Time, error) {
	if date, err := image.SourceDate(time.Time{}); err != nil || !date.IsZero() {
		return date, err
	}
	said, err := git.Output(ctx, ".", "log", "-1", "--no-show-signature", "--format=%cI")
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, strings.TrimSpace(said))
}
