// Gallery runs one of the operators of the gallery as a process: "gallery ok-app", or lists them:
// "gallery --list -o json". It finds its API server as operators do: by --kubeconfig, KUBECONFIG
// or the files of a pod. It listens on no port.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"text/tabwriter"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

func main() {
	list := flag.Bool("list", false, "list all operators")
	output := flag.String("o", "", "how to list them: json, or a table")
	namespace := flag.String("namespace", "", "the only namespace to look at")
	elect := flag.Bool("leader-elect", false, "work only while holding a lease")
	flag.Parse()
	// Flags may stand after the name, too.
	name := flag.Arg(0)
	if flag.NArg() > 1 {
		_ = flag.CommandLine.Parse(flag.Args()[1:]) // ends the process where it fails
	}
	act := func() error { return run(ctrl.SetupSignalHandler(), name, *namespace, *elect) }
	if *list {
		act = func() error { return show(*output) }
	}
	if err := act(); err != nil {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name, namespace string, elect bool) error {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	if name == "" {
		return errors.New("name an operator: gallery NAME; gallery --list lists them")
	}
	operator, err := operators.Find(name)
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	operator.Elects = operator.Elects || elect
	options := operator.Options(namespace)
	options.GracefulShutdownTimeout = ptr.To(time.Second)
	m, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	if err := operator.Setup(m); err != nil {
		return err
	}
	return m.Start(ctx)
}

func show(output string) error {
	if output == "json" {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(operators.All())
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	for _, o := range operators.All() {
		property := string(o.Property)
		if o.Correct {
			property = "(correct)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", o.Name, property, o.About)
	}
	return table.Flush()
}
