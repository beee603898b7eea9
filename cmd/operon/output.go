package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Formats of the flag -o.
const (
	formatText = "text"
	formatJSON = "json"
	formatYAML = "yaml"
	// formatName prints lines of the form kind/name, for commands whose facts are objects.
	formatName = "name"
)

// output is the flag -o of a command that prints facts.
type output struct {
	format  string
	formats []string
}

// addFlag adds the flag. All commands have the formats text, json and yaml. others are additional formats.
func (o *output) addFlag(command *cobra.Command, of string, others ...string) {
	o.formats = append([]string{formatText, formatJSON, formatYAML}, others...)
	command.Flags().StringVarP(&o.format, "output", "o", formatText, "`FORMAT` of "+of+": "+o.list())
	completeWith(command, "output", o.formats...)
}

// list returns the formats as a phrase.
func (o *output) list() string {
	last := len(o.formats) - 1
	return strings.Join(o.formats[:last], ", ") + " or " + o.formats[last]
}

// check rejects a format that the command does not have.
func (o *output) check() error {
	if !slices.Contains(o.formats, o.format) {
		return usageError{fmt.Errorf("-o %s: want %s", o.format, o.list())}
	}
	return nil
}

// forms is the output of a command in each format.
type forms struct {
	text func(io.Writer) error
	// facts are encoded as JSON and YAML, unless json writes the JSON.
	facts any
	json  func(io.Writer) error
	// names are the lines of the format name.
	names []string
}

// print prints facts in the format of the flag.
func (o *output) print(out io.Writer, as forms) error {
	if as.json == nil {
		as.json = func(out io.Writer) error { return printJSON(out, as.facts) }
	}
	switch o.format {
	case formatJSON:
		return as.json(out)
	case formatYAML:
		return printYAML(out, as.json)
	case formatName:
		for _, name := range as.names {
			fmt.Fprintln(out, name)
		}
		return nil
	}
	return as.text(out)
}

func printJSON(out io.Writer, what any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(what)
}

// printYAML prints the written JSON as YAML, so both have the same fields.
func printYAML(out io.Writer, write func(io.Writer) error) error {
	var written bytes.Buffer
	if err := write(&written); err != nil {
		return err
	}
	converted, err := yaml.JSONToYAML(written.Bytes())
	if err != nil {
		return err
	}
	_, err = out.Write(converted)
	return err
}

// nameLine returns the line of an object in the format name, which kubectl also prints and reads.
func nameLine(kind, name string) string { return strings.ToLower(kind) + "/" + name }

// nameLines returns the lines of objects in the form "Kind namespace/name" or "Kind name".
func nameLines(addresses ...string) []string {
	var lines []string
	for _, address := range addresses {
		kind, name, _ := strings.Cut(address, " ")
		lines = append(lines, nameLine(kind, name[strings.LastIndex(name, "/")+1:]))
	}
	return lines
}
