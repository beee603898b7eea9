package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/engine/ansible"
)

// settings are the flags of this program, in addition to the flags of operon.Main.
type settings struct {
	watches        string
	name           string
	leaseNamespace string
	period         time.Duration
	concurrency    int
	hideOverrides  bool
	namespaced     bool // --namespace is set
	ansible        ansible.Engine
	// leaseDuration and renewDeadline are those of the leader election. 0: the defaults.
	leaseDuration, renewDeadline time.Duration
}

// Flags of Operator SDK's Helm and Ansible operators that have another name in operon.Main, and flags that have no effect here: metrics that
// are served with TLS are always authorized, HTTP/2 is never enabled, the proxy of the Ansible engine chooses a free port, leaders are elected with
// Leases, and the log has each run and no more, unless the output is asked for.
var (
	renamed = map[string]string{
		"metrics-addr": "metrics-bind-address", "enable-leader-election": "leader-elect", "zap-log-level": "log-level",
	}
	ignored = []string{
		"metrics-require-rbac", "enable-http2", "zap-devel", "zap-stacktrace-level", "zap-time-encoding",
		"proxy-port", "leader-elect-resource-lock", "ansible-log-events",
	}
	// switches are the flags that may be written without a value.
	switches = []string{
		"metrics-secure", "metrics-require-rbac", "enable-http2", "leader-elect", "enable-leader-election", "suppress-override-values",
		"zap-devel", "dry-run", "h", "help", "inject-owner-ref",
	}
)

// translate parses the flags of this program, and returns the remaining arguments for operon.Main.
func translate(args []string) (settings, []string, error) {
	s := settings{watches: "./watches.yaml"}
	if insideCluster() {
		s.ansible.GracefulShutdown = shutdownInCluster
	}
	s.ansible.ShowOutput = strings.EqualFold(os.Getenv("ANSIBLE_DEBUG_LOGS"), "true")
	var rest []string
	if len(args) > 0 && args[0] == "run" {
		args = args[1:]
	}
	sharded := false
	for len(args) > 0 {
		name, value, used, err := next(args)
		if err != nil {
			return s, nil, err
		}
		args = args[used:]
		taken, err := s.take(name, value)
		if err != nil {
			return s, nil, fmt.Errorf("--%s %q: %w", name, value, err)
		}
		if taken || slices.Contains(ignored, name) {
			continue
		}
		s.namespaced = s.namespaced || name == "namespace"
		sharded = sharded || name == "shards" && value != "0"
		rest = append(rest, passed(name, value))
	}
	if sharded { // another replica takes over at once
		s.ansible.GracefulShutdown = 0
	}
	return s, rest, nil
}

// shutdownInCluster is how long runs may continue in a cluster when the operator stops, without the flag. It is less than the 10 s for which Kubernetes
// waits for the pods of Operator SDK's projects: a pod that is killed does not release its Lease.
const shutdownInCluster = 5 * time.Second

func insideCluster() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }

// addresses returns the flags for the addresses of metrics and probes that args do not have. In a cluster, they are the defaults of Operator SDK's
// operators, whose manifests rely on them.
func addresses(args []string, helm bool) []string {
	metrics, probes := ":8443", ":6789"
	if helm {
		metrics, probes = ":8080", ":8081"
	}
	var flags []string
	for _, one := range []struct{ flag, address string }{{"--health-probe-bind-address=", probes}, {"--metrics-bind-address=", metrics}} {
		if insideCluster() && !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, one.flag) }) {
			flags = append(flags, one.flag+one.address)
		}
	}
	return flags
}

// manager sets the options of the manager that have no flag of operon.Main.
func (s settings) manager(options *ctrl.Options) {
	if s.leaseDuration > 0 {
		options.LeaseDuration = &s.leaseDuration
	}
	if s.renewDeadline > 0 {
		options.RenewDeadline = &s.renewDeadline
	}
	patience := s.ansible.GracefulShutdown + 30*time.Second // the default, for all other parts
	options.GracefulShutdownTimeout = &patience
}

// next returns the name and the value of the first flag, and the number of its arguments.
func next(args []string) (name, value string, used int, err error) {
	flag, dashed := strings.CutPrefix(args[0], "-")
	flag = strings.TrimPrefix(flag, "-")
	if !dashed || flag == "" {
		return "", "", 0, fmt.Errorf("unexpected argument %q", args[0])
	}
	name, value, found := strings.Cut(flag, "=")
	switch {
	case found:
		return name, value, 1, nil
	case slices.Contains(switches, name):
		return name, "true", 1, nil
	case len(args) == 1:
		return "", "", 0, fmt.Errorf("--%s needs a value", name)
	}
	return name, args[1], 2, nil
}

// take parses a flag of this program. It returns false for any other flag.
func (s *settings) take(name, value string) (taken bool, err error) {
	switch name {
	case "watches-file":
		s.watches = value
	case "leader-election-id":
		s.name = value
	case "leader-election-namespace":
		s.leaseNamespace = value
	case "reconcile-period":
		s.period, err = duration(value)
	case "max-concurrent-reconciles":
		if s.concurrency, err = strconv.Atoi(value); err == nil && s.concurrency < 1 {
			err = fmt.Errorf("want 1 or more")
		}
	case "suppress-override-values":
		s.hideOverrides, err = strconv.ParseBool(value)
	case "leader-elect-lease-duration":
		s.leaseDuration, err = duration(value)
	case "leader-elect-renew-deadline":
		s.renewDeadline, err = duration(value)
	default:
		return s.takeAnsible(name, value)
	}
	return true, err
}

// takeAnsible parses a flag of the Ansible engine. It returns false for any other flag.
func (s *settings) takeAnsible(name, value string) (taken bool, err error) {
	switch name {
	case "ansible-verbosity":
		if s.ansible.Verbosity, err = strconv.Atoi(value); err == nil && (s.ansible.Verbosity < 0 || s.ansible.Verbosity > 7) {
			err = fmt.Errorf("want a number from 0 to 7")
		}
	case "ansible-roles-path":
		s.ansible.RolesPath = value
	case "ansible-collections-path":
		s.ansible.CollectionsPath = value
	case "ansible-args":
		s.ansible.Arguments = value
		if n := len(value); n > 1 && value[0] == '\'' && value[n-1] == '\'' { // as manifests quote it
			s.ansible.Arguments = value[1 : n-1]
		}
	case "inject-owner-ref":
		var inject bool
		inject, err = strconv.ParseBool(value)
		s.ansible.WithoutOwners = !inject
	case "graceful-shutdown-timeout":
		s.ansible.GracefulShutdown, err = duration(value)
	case "ansible-run-timeout":
		if s.ansible.RunTimeout, err = time.ParseDuration(value); err == nil && s.ansible.RunTimeout <= 0 {
			err = fmt.Errorf("want a duration such as 30m")
		}
	default:
		return false, nil
	}
	return true, err
}

// duration parses a duration that may be 0.
func duration(text string) (time.Duration, error) {
	parsed, err := time.ParseDuration(text)
	if err == nil && parsed < 0 {
		err = errors.New("want a duration such as 5m, or 0 for none")
	}
	return parsed, err
}

// passed converts a flag to the flag of operon.Main.
func passed(name, value string) string {
	if n, err := strconv.Atoi(value); name == "zap-log-level" && err == nil && n > 0 { // further levels of debug
		value = "debug"
	}
	if name == "zap-log-level" && value == "panic" {
		value = "error"
	}
	if other, ok := renamed[name]; ok {
		name = other
	}
	if name == "zap-encoder" {
		name = "log-format"
		if value == "console" {
			value = "text"
		}
	}
	return "--" + name + "=" + value
}
