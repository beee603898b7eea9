package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// identity identifies a build of operon.
type identity struct {
	Version string `json:"version"`
	// Revision is the commit from which it was built, Modified reports whether there were uncommitted changes, and Time is the time
	// of the commit. All are empty for a build outside of a checkout.
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion() *cobra.Command {
	output := output{}
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of operon and what it was built from",
		Example: `  operon version
  operon version -o json`,
		Args: noArguments,
	}
	output.addFlag(command, "the version")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := output.check(); err != nil {
			return err
		}
		id := identify()
		text := func(out io.Writer) error { _, err := fmt.Fprintln(out, id); return err }
		return output.print(command.OutOrStdout(), forms{facts: id, text: text})
	}
	return command
}

// identify returns the information that the go command recorded in this build.
func identify() identity {
	id := identity{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return id
	}
	if info.Main.Version != "" {
		id.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			id.Revision = setting.Value
		case "vcs.modified":
			id.Modified = setting.Value == "true"
		case "vcs.time":
			id.Time = setting.Value
		}
	}
	return id
}

// String returns the identity on one line.
func (id identity) String() string {
	line := fmt.Sprintf("operon %s, %s %s", id.Version, id.Go, id.Platform)
	if id.Revision == "" {
		return line
	}
	if id.Modified {
		return line + ", built from " + id.Revision + " with changes"
	}
	return line + ", built from " + id.Revision
}
