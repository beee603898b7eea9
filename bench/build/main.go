// Command build builds the image of examples/memcached with `operon build`, and only its binary with the go command,
// alternating, and compares the times if nothing has changed. It also prints the size of the image.
//
//	go run ./build --rounds 7
//	go run ./build --first
//
// Both have built everything once before. The go command is called with the same flags, but keeps its build ID, so it can
// detect that there is nothing to do, and adds no time zone data. With --first, the compiler's cache is empty, and `operon up` of a release runs before the build.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/operon-framework/operon/bench/internal/report"
)

func main() { report.Main(run) }

// image contains the fields of the output of `operon build -o json` that are checked here.
type image struct {
	Platforms []struct {
		Size      int64
		Unchanged bool
	}
}

// bench contains the directory of the project, and the directory for all output.
type bench struct{ project, folder string }

// size is the goal for the size of the image.
const size = 30_000_000

func run(ctx context.Context) error {
	rounds := flag.Int("rounds", 7, "how often each is measured")
	first := flag.Bool("first", false, "measure the first build after operon up, with an empty cache of the compiler")
	flag.Parse()
	folder, err := os.MkdirTemp("", "operon-bench-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	root, err := report.Repository(ctx)
	if err != nil {
		return err
	}
	b := bench{filepath.Join(root, "examples", "memcached"), folder}
	if *first {
		return b.first(ctx, root)
	}
	if err := report.Build(ctx, ".", "./cmd/operon", b.file("operon")); err != nil {
		return err
	}
	var ours, peers []time.Duration
	var made image
	for round := range *rounds + 1 {
		our, told, err := b.operon(ctx)
		if err != nil {
			return err
		}
		peer, _, err := b.time(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", b.file("program"), ".")
		if err != nil {
			return err
		}
		if round == 0 {
			continue // the first compiles
		}
		if !told.Platforms[0].Unchanged {
			return fmt.Errorf("round %d compiled, where nothing had changed", round)
		}
		ours, peers, made = append(ours, our), append(peers, peer), told
	}
	verdict := report.Missed
	if made.Platforms[0].Size < size {
		verdict = report.Met
	}
	return report.Write(os.Stdout, "go build", []report.Figure{
		report.AtMost("nothing changed", ours, peers, report.Seconds, 0),
		report.Within("… alone", ours, timing.unchanged),
		{Name: "image, compressed", Operon: report.Megabytes(made.Platforms[0].Size), Goal: "< " + report.Megabytes(size), Met: verdict},
	})
}

func (b bench) file(name string) string { return filepath.Join(b.folder, name) }

func (b bench) operon(ctx context.Context) (time.Duration, image, error) {
	took, output, err := b.time(ctx, b.file("operon"), "build", "--tar", b.file("image.tar"), "-o", "json")
	if err != nil {
		return 0, image{}, err
	}
	var told image
	return took, told, json.Unmarshal(output, &told)
}

// time runs a command in the project and measures its time.
func (b bench) time(ctx context.Context, program string, arguments ...string) (time.Duration, []byte, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = b.project
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "OPERON_HOME="+b.file("home"))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	started := time.Now()
	output, err := command.Output()
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, stderr.Bytes())
	}
	return time.Since(started), output, nil
}
