package project

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// Compile tells in the compiler's words why a project does not compile, tests left out.
//
// It tells nothing of what the go command cannot load, which generators tell; nor, unless patient, as long as the
// modules that the project uses were never compiled on this machine, for that takes minutes.
func Compile(ctx context.Context, dir string, patient bool) error {
	content, err := os.ReadFile(dir + "/go.mod")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	command := exec.CommandContext(ctx, "go", "list", "-e", "-export", "-v", "-f", "{{with .Error}}{{.Err}}{{end}}", "./...")
	command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS="+strings.ReplaceAll(os.Getenv("GOFLAGS"), "-mod=mod", "-mod=readonly"))
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // it removes its directory then
	command.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	command.Stdout = &said
	compiling, err := command.StderrPipe() // a line for each package that is compiled
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

// compilerSays picks the compiler's errors out of what the go command says.
func compilerSays(said string) error {
	var lines []string
	told := false
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "# ") { // the compiler's, of a package
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

// NotCompiling says so of a project in dir, with the compiler's words and the project's own file names.
func NotCompiling(dir string, err error) error {
	said := strings.ReplaceAll(err.Error(), dir+string(os.PathSeparator), "")
	if strings.Contains(said, "\n") {
		said = "\n" + said
	} else {
		said = " " + said
	}
	return fmt.Errorf("the project does not compile; nothing was written:%s", said)
}
