package project

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/operon-framework/operon/internal/tools/gobuild"
)

// Compile returns the compiler's errors if a project does not compile. Tests are not compiled.
//
// It reports no errors of the go command about loading packages, which generators report. Unless patient is set, it also
// reports nothing if the modules that the project uses were never compiled on this machine, because that takes minutes.
func Compile(ctx context.Context, dir string, patient bool) error {
	content, err := os.ReadFile(dir + "/go.mod")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	flags, env := gobuild.Flags() // those of `operon up`, which has compiled the modules
	list := slices.Concat([]string{"list"}, flags, []string{"-e", "-export", "-v", "-f", "{{with .Error}}{{.Err}}{{end}}", "./..."})
	command := exec.CommandContext(ctx, "go", list...)
	command.Dir = dir
	command.Env = slices.Concat(os.Environ(), env, []string{"GOWORK=off", "GOFLAGS=" + strings.ReplaceAll(os.Getenv("GOFLAGS"), "-mod=mod", "-mod=readonly")})
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // so that it removes its temporary directory
	command.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	command.Stdout = &said
	compiling, err := command.StderrPipe() // one line for each compiled package
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	module, foreign := modfile.ModulePath(content), false
	for lines := bufio.NewScanner(compiling); lines.Scan(); {
		if path := lines.Text(); !patient && path != module && !strings.HasPrefix(path, module+"/") {
			foreign = true
			stop()
		}
	}
	if err := command.Wait(); err != nil || foreign {
		return nil //nolint:nilerr // see above
	}
	return compilerSays(said.String())
}

// compilerSays extracts the compiler's errors from the output of the go command.
func compilerSays(said string) error {
	var lines []string
	told := false
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "# ") { // the compiler's errors in a package follow
			told = true
			continue
		}
		if told && line != "" {
			lines = append(lines, strings.TrimPrefix(line, "./"))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// NotCompiling returns an error about a project in dir that does not compile, with the compiler's errors and paths relative
// to the project.
func NotCompiling(dir string, err error) error {
	said := strings.ReplaceAll(err.Error(), dir+string(os.PathSeparator), "")
	if strings.Contains(said, "\n") {
		said = "\n" + said
	} else {
		said = " " + said
	}
	return fmt.Errorf("the project does not compile; nothing was written:%s", said)
}
