// Command save writes the licenses and notices of everything that is linked into a program to a directory, for
// releases of the program: save DIRECTORY MODULE-DIRECTORY PACKAGE.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/operon-framework/operon/internal/ship/licenses"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: save DIRECTORY MODULE-DIRECTORY PACKAGE")
		os.Exit(2)
	}
	if err := save(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func save(dir, module, main string) error {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{$.ImportPath}}\t{{$.Dir}}{{end}}", main)
	list.Dir, list.Stderr = module, os.Stderr
	output, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	var linked []licenses.Linked
	for line := range strings.Lines(string(output)) {
		if fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(fields) == 3 {
			linked = append(linked, licenses.Linked{Module: fields[0], Package: fields[1], Dir: fields[2]})
		}
	}
	files, err := licenses.Collect(linked)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return licenses.Write(dir, files)
}
