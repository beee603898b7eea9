package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/ship/chart"
)

func newChart() *cobra.Command {
	command := &cobra.Command{
		Use:   "chart",
		Short: "Package and publish Helm charts",
		Long: `Package and publish Helm charts, of operators or any others. "operon generate --helm" writes the chart
of an operator. Helm reads what these commands write.`,
		Example: `  operon chart package chart --version 1.2.0 --destination dist
  operon chart index dist --url https://charts.example.com
  operon chart push dist/web-1.2.0.tgz oci://registry.example.com/charts`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q for \"operon chart\"%s", args[0], suggestion(command, args[0]))}
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newChartPackage(), newChartIndex(), newChartPush())
	return command
}

func newChartPackage() *cobra.Command {
	output, options, passphrase := output{}, chart.PackageOptions{}, ""
	command := &cobra.Command{
		Use:   "package [DIR]",
		Short: "Package a chart, and sign it",
		Long: `Package the chart in DIR (default: chart) as NAME-VERSION.tgz. The same chart gives the same archive, byte
for byte; $SOURCE_DATE_EPOCH sets the time of its files.

With --key, the archive gets a provenance file NAME-VERSION.tgz.prov, which "helm verify" checks. The
keyring holds secret keys: export one from GnuPG with "gpg --export-secret-keys NAME > keyring.gpg".`,
		Example: `  operon chart package chart --version 1.2.0 --app-version 1.2.0 --destination dist
  operon chart package chart --key release@example.com --keyring keyring.gpg --passphrase-file passphrase`,
		Args: oneDirectory,
	}
	set := command.Flags()
	set.StringVar(&options.Version, "version", "", "`VERSION` of the chart, in place of that in Chart.yaml")
	set.StringVar(&options.AppVersion, "app-version", "", "`VERSION` of the operator, in place of that in Chart.yaml")
	set.StringVarP(&options.To, "destination", "d", ".", "`DIR` for the archive")
	set.StringVar(&options.Key, "key", "", "`NAME` of the key to sign with, or a part of it")
	set.StringVar(&options.Keyring, "keyring", "", "`FILE` with secret keys")
	set.StringVar(&passphrase, "passphrase-file", "", "`FILE` with the passphrase of the key")
	output.addFlag(command, "the archive")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if (options.Key == "") != (options.Keyring == "") {
			return usageError{errors.New("--key and --keyring belong together: the name of the key, and the file that has it")}
		}
		if options.Dir = "chart"; len(args) > 0 {
			options.Dir = args[0]
		}
		if passphrase != "" {
			options.Passphrase = func(string) ([]byte, error) {
				content, err := os.ReadFile(passphrase)
				return []byte(strings.TrimRight(string(content), "\r\n")), err
			}
		}
		made, err := chart.Package(options)
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{facts: made, text: func(out io.Writer) error {
			lines := made.File
			if made.Provenance != "" {
				lines += "\n" + made.Provenance
			}
			_, err := fmt.Fprintf(out, "%s\nsha256:%s\n", lines, made.Digest)
			return err
		}})
	}
	return command
}

func newChartIndex() *cobra.Command {
	output, options := output{}, chart.IndexOptions{}
	command := &cobra.Command{
		Use:   "index DIR",
		Short: "Write the index of a chart repository",
		Long: `Write DIR/index.yaml, the index of the packaged charts in DIR. A web server that serves DIR is then a
chart repository for "helm repo add".

With --merge, versions of an earlier index stay, so that DIR needs only the new archives.`,
		Example: `  operon chart index dist --url https://charts.example.com
  operon chart index dist --url https://charts.example.com --merge pages/index.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("want the directory with the packaged charts")}
			}
			return nil
		},
	}
	set := command.Flags()
	set.StringVar(&options.URL, "url", "", "`URL` at which the archives are published (default: relative to the index)")
	set.StringVar(&options.Merge, "merge", "", "`FILE` with an earlier index whose versions stay; it need not exist")
	output.addFlag(command, "the versions")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		options.Dir = args[0]
		written, err := chart.WriteIndex(options)
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{facts: written, text: func(out io.Writer) error {
			fmt.Fprintf(out, "wrote %s: %s\n", written.File, strings.Join(written.Added, ", "))
			if len(written.Kept) == 0 {
				return nil
			}
			_, err := fmt.Fprintf(out, "kept of the earlier index: %s\n", strings.Join(written.Kept, ", "))
			return err
		}})
	}
	return command
}

func newChartPush() *cobra.Command {
	output := output{}
	command := &cobra.Command{
		Use:   "push FILE oci://REGISTRY/PATH",
		Short: "Push a packaged chart to a registry",
		Long: `Push the packaged chart FILE, and FILE.prov if it exists, to a registry. The chart gets its own name below
PATH, and its version as the tag, so that users install it with
"helm install NAME oci://REGISTRY/PATH/CHART --version VERSION". Credentials are read from Docker's config.json.`,
		Example: `  operon chart push dist/web-1.2.0.tgz oci://registry.example.com/charts`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{errors.New("want a packaged chart, and where to push it, such as oci://registry.example.com/charts")}
			}
			return nil
		},
	}
	output.addFlag(command, "the result")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		progress := newProgress(command.ErrOrStderr())
		defer progress.done()
		pushed, err := chart.Push(command.Context(), filepath.Clean(args[0]), args[1], progress.tell)
		progress.done()
		if err != nil {
			return err
		}
		return output.print(command.OutOrStdout(), forms{facts: pushed, text: func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "pushed %s@%s\n", pushed.Name, pushed.Digest)
			return err
		}})
	}
	return command
}
