// Command fresh reports how much of the code under each table of bench/README.md has changed since the table was measured:
//
//	go run ./fresh
//	go run ./fresh --most 500     # fails if more than 500 lines have changed under a table
//
// A table is introduced by a text in its section that contains a day and a commit, as in "2026-11-28 at 60e5f519"; the last one before the table
// counts. The variable covers lists the directories that a section measures. Tests, documentation and fuzz data do not count.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/bench/internal/report"
)

func main() { report.Main(run) }

// covers lists the directories of the repository that the tables of a section measure.
var covers = map[string][]string{
	"The local cluster against envtest":                    {"cluster"},
	"Container nodes against simulated nodes":              {"cluster/internal/node", "cluster/internal/image", "cluster/internal/instance"},
	"The runtime against controller-runtime":               {"internal/runtime", "internal/core", "cluster"},
	"Many objects":                                         {"internal/runtime", "internal/core", "cluster"},
	"Operators without Go against the way of Operator SDK": {"engine", "internal/runtime", "internal/core"},
	"Code that a spec change runs through":                 {"internal/runtime", "internal/core"},
	"Sharding":                                             {"internal/runtime/shard", "internal/core/shardtable"},
	"Fault injection: `operon prove`":                      {"prove", "internal/prove", "cluster"},
	"Search and false alarms":                              {"prove", "internal/prove", "cluster"},
	"Durable workflows":                                    {"durable", "internal/runtime/reconcile"},
	"External resources":                                   {"external", "internal/runtime/reconcile"},
	"Webhooks: certificate rotation under load":            {"internal/runtime/webhook"},
	"Conversion between versions":                          {"internal/runtime/webhook"},
	"Generating":                                           {"internal/tools/generate"},
	"Scaffolding":                                          {"internal/tools/scaffold", "internal/tools/up"},
	"Images":                                               {"internal/ship/build", "internal/ship/image"},
	"A hostile tenant":                                     {"internal/runtime", "internal/core"},
	"Catalogs":                                             {"internal/ship/catalog"},
	"The lifecycle manager":                                {"olm", "internal/olm", "internal/runtime"},
}

// table is a table of the README.
type table struct {
	section string
	// line is the line of its header.
	line int
	// day and commit say when and at what it was measured. They are empty if its section does not say.
	day, commit string
}

// when matches the day and the commit of a measurement.
var when = regexp.MustCompile(`\b(\d{4}-\d{2}-\d{2}) at ([0-9a-f]{7,40})\b`)

// tables finds all tables in a Markdown file.
func tables(text string) []table {
	var found []table
	var now table
	inside, code := false, false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if code {
			continue
		}
		if title, ok := strings.CutPrefix(line, "## "); ok {
			now = table{section: title}
		}
		if title, ok := strings.CutPrefix(line, "### "); ok {
			now = table{section: title}
		}
		row := strings.HasPrefix(line, "|")
		if row && !inside {
			now.line = i + 1
			found = append(found, now)
		}
		if inside = row; row {
			continue
		}
		if all := when.FindAllStringSubmatch(line, -1); all != nil {
			now.day, now.commit = all[0][1], all[0][2]
		}
	}
	return found
}

func run(ctx context.Context) error {
	most := flag.Int("most", -1, "fail if more `LINES` have changed under a table; -1 means any number")
	flag.Parse()
	root, err := report.Repository(ctx)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, "bench", "README.md"))
	if err != nil {
		return err
	}
	var old []error
	fmt.Println("| line | section | measured | commit | lines changed since |\n| --- | --- | --- | --- | --- |")
	for _, t := range tables(string(text)) {
		changed, err := changes(ctx, root, t.commit, covers[t.section])
		if err != nil {
			return fmt.Errorf("bench/README.md:%d: %w", t.line, err)
		}
		fmt.Printf("| %d | %s | %s | %s | %d |\n", t.line, t.section, t.day, t.commit, changed)
		if *most >= 0 && changed > *most {
			old = append(old, fmt.Errorf("bench/README.md:%d: %d lines of %s have changed since %s: measure the table again", t.line, changed, strings.Join(covers[t.section], ", "), t.commit))
		}
	}
	return errors.Join(old...)
}

// changed matches the numbers of added and deleted lines of a file.
var changed = regexp.MustCompile(`(?m)^(\d+)\t(\d+)\t`)

// changes counts the lines of code in directories that were added or deleted since a commit.
func changes(ctx context.Context, root, commit string, dirs []string) (int, error) {
	arguments := append([]string{"diff", "--numstat", commit, "HEAD", "--"}, dirs...)
	command := exec.CommandContext(ctx, "git", append(arguments, ":(exclude,glob)**/*_test.go", ":(exclude,glob)**/*.md", ":(exclude,glob)**/testdata/**")...)
	command.Dir = root
	output, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return 0, fmt.Errorf("git diff %s: %s", commit, strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return 0, err
	}
	sum := 0
	for _, file := range changed.FindAllSubmatch(output, -1) {
		for _, number := range file[1:] {
			lines, err := strconv.Atoi(string(number))
			if err != nil {
				return 0, err
			}
			sum += lines
		}
	}
	return sum, nil
}
