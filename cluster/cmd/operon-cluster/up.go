package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

// upFlags are the flags of up that become part of a spec.
type upFlags struct {
	config, data, auditPolicy string
	node                      string
	nodes, port, logLevel     int
	registryPort              int
	egress, plain             bool
	publish                   []string
	ttl                       time.Duration
	gates                     map[string]string
	merge                     bool
}

func newUp() *cobra.Command {
	var flags upFlags
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, or find it running",
		Long: `Start a cluster, or find it running. Returns when the API and the controllers serve.

The state is temporary and is lost when the cluster stops, unless --data names a
directory for it. Your own kubeconfig is not changed unless you set --merge.

The file of --config has the same settings and more:

  nodes: 3
  featureGates: {ShardedListAndWatch: true}
  runtimeConfig: {api/alpha: true}
  auditPolicy: audit-policy.yaml
  logLevel: 2
  apiServer: {max-requests-inflight: "800"}   # any flag of the component
  controllerManager: {}
  scheduler: {}`,
		Example: `  operon cluster up
  operon cluster up --cluster big --nodes 100
  operon cluster up --node container
  operon cluster up --data ./state --port 16443`,
		Args: noArguments,
	}
	name, output := nameFlag(command), outputFlag(command, "the facts", formatName)
	flags.add(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		spec, err := flags.spec(command)
		if err != nil {
			return err
		}
		return flags.blame(command, up(command, *name, spec, flags.merge, output))
	}
	return command
}

// blame attributes an error in a spec to the flag that the user set, or to the configuration file.
func (f *upFlags) blame(command *cobra.Command, err error) error {
	var wrong *instance.FieldError
	if !errors.As(err, &wrong) {
		return err
	}
	flag := strings.ToLower(capital.ReplaceAllString(wrong.Field, "-$0"))
	if command.Flags().Changed(flag) {
		return usageError{fmt.Errorf("--%s %w", flag, wrong.Err)}
	}
	return fmt.Errorf("%s: %w", f.config, err)
}

// capital matches the first letter of each further word in the name of a field.
var capital = regexp.MustCompile("[A-Z]")

func (f *upFlags) add(command *cobra.Command) {
	set := command.Flags()
	set.StringVar(&f.config, "config", "", "configuration file; flags override it")
	set.StringVar(&f.node, "node", "sim", "kind of the node: sim, or container for a node that runs containers (Linux, root)")
	set.IntVar(&f.nodes, "nodes", 1, "number of simulated nodes; with --node container, none unless set")
	set.StringVar(&f.data, "data", "", "directory that keeps the state across down and up")
	set.DurationVar(&f.ttl, "ttl", 0, "stop the cluster after this time without use; 0 means never")
	set.IntVar(&f.port, "port", 0, "port of the API server on loopback; 0 means a free port")
	set.BoolVar(&f.egress, "egress", false, "with --node container: let pods connect to everything that this machine can reach by TCP, and pull images from registries")
	set.StringSliceVar(&f.publish, "publish", nil, "with --node container: forward a port of this machine (default: on loopback) to a NodePort or hostPort, as [IP:]HOSTPORT:NODEPORT")
	set.IntVar(&f.registryPort, "registry-port", 0, "with --node container: port of the image registry on loopback; 0 means a free port, or the port kept with --data")
	set.BoolVar(&f.plain, "plain", false, "turn off all accelerations; the cluster starts more slowly")
	set.StringToStringVar(&f.gates, "feature-gates", nil, "feature gates of all components: Name=true,Other=false")
	set.Lookup("feature-gates").DefValue = "" // pflag prints an empty map as a default
	set.IntVar(&f.logLevel, "log-level", 0, "verbosity of the component logs, 0 to 10")
	set.StringVar(&f.auditPolicy, "audit-policy", "", "file with an audit policy; the log is written to audit.log in the cluster's directory")
	set.BoolVar(&f.merge, "merge", false, "add the cluster to your own kubeconfig, as its current context")
}

// spec returns the spec of the configuration file. Flags override it.
func (f *upFlags) spec(command *cobra.Command) (instance.Spec, error) {
	var spec instance.Spec
	if f.config != "" {
		var err error
		if spec, err = instance.ReadSpec(f.config); err != nil {
			return spec, err
		}
	}
	given := command.Flags().Changed
	if given("node") {
		spec.Node = instance.NodeKind(f.node)
	}
	if given("nodes") {
		if f.nodes < 1 {
			return spec, usageError{fmt.Errorf("--nodes %d: want at least 1", f.nodes)}
		}
		spec.Nodes = f.nodes
	}
	if given("data") {
		spec.Data = f.data
	}
	if given("ttl") {
		spec.TTL.Duration = f.ttl
	}
	if given("port") {
		spec.Port = f.port
	}
	if given("publish") {
		spec.Publish = f.publish
	}
	if given("egress") {
		spec.Egress = f.egress
	}
	if given("plain") {
		spec.Plain = f.plain
	}
	if given("registry-port") {
		spec.RegistryPort = f.registryPort
	}
	if given("log-level") {
		spec.LogLevel = f.logLevel
	}
	if given("audit-policy") {
		spec.AuditPolicy = f.auditPolicy
	}
	return spec, f.addGates(&spec)
}

func (f *upFlags) addGates(spec *instance.Spec) error {
	for gate, value := range f.gates {
		if value != "true" && value != "false" {
			return usageError{fmt.Errorf("--feature-gates %s=%s: want true or false", gate, value)}
		}
		if spec.FeatureGates == nil {
			spec.FeatureGates = map[string]bool{}
		}
		spec.FeatureGates[gate] = value == "true"
	}
	return nil
}

func up(command *cobra.Command, name string, spec instance.Spec, merge bool, output *output) error {
	facts, started, err := instance.Up(command.Context(), name, spec)
	if err != nil {
		return err
	}
	if facts.Crash != "" {
		fmt.Fprintln(command.ErrOrStderr(), facts.Crash)
	}
	if !started {
		if err := compare(command, facts, spec); err != nil {
			return err
		}
	}
	if merge {
		if facts.MergedInto, err = instance.Merge(name); err != nil {
			return err
		}
	}
	text := func() error {
		sayUp(command, facts, started)
		return nil
	}
	return output.print(command.OutOrStdout(), facts, text, "cluster", facts.Name)
}

// compare tells the user which settings the running cluster does not have. It is an error if it has no node that runs containers: nothing that the
// user wants to run would run.
func compare(command *cobra.Command, facts instance.Facts, spec instance.Spec) error {
	different, err := instance.Differences(facts.Name, spec)
	if err != nil || len(different) == 0 {
		return err
	}
	if spec.Node == instance.Container && facts.Node != instance.Container {
		return fmt.Errorf("cluster %q is up and has no node that runs containers; stop it with `operon cluster down --cluster %s` first, or choose another name with --cluster", facts.Name, facts.Name)
	}
	fmt.Fprintf(command.ErrOrStderr(), "cluster %q keeps the settings that it was started with (different: %s); to change them, stop it with `operon cluster down --cluster %s` first\n",
		facts.Name, strings.Join(different, ", "), facts.Name)
	return nil
}

func sayUp(command *cobra.Command, facts instance.Facts, started bool) {
	out := command.OutOrStdout()
	if started {
		fmt.Fprintf(out, "cluster %q is up: Kubernetes %s at %s, ready in %.1f s\n", facts.Name, facts.Version, facts.Server, facts.ReadySeconds)
	}
	if !started {
		fmt.Fprintf(out, "cluster %q is already up, for %s: Kubernetes %s at %s\n", facts.Name, age(facts.StartedAt), facts.Version, facts.Server)
	}
	if facts.Registry != "" {
		fmt.Fprintf(out, "push images to %s/NAME with any tool; pods use the same name\n", facts.Registry)
	}
	for _, port := range facts.Published {
		at := port[:strings.LastIndexByte(port, ':')]
		fmt.Fprintf(out, "%s is forwarded to port %s of the node\n", at, port[len(at)+1:])
	}
	if facts.MergedInto != "" {
		fmt.Fprintf(out, "your kubeconfig %s selects it\n", facts.MergedInto)
		return
	}
	suffix := ""
	if facts.Name != instance.DefaultName {
		suffix = " --cluster " + facts.Name
	}
	fmt.Fprintf(out, "try:  operon kubectl%s get nodes\n", suffix)
	fmt.Fprintf(out, "or:   eval \"$(operon cluster env%s)\"   # for kubectl and other tools in this shell\n", suffix)
}
