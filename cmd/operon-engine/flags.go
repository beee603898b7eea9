package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

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
}

// Flags of Operator SDK's Helm and Ansible operators that have another name in operon.Main, and flags that have no effect here: metrics that
// are served with TLS are always authorized, HTTP/2 is never enabled, the proxy of the Ansible engine chooses a free port, runs end with the
// operator, and the log has each run and no more, unless the output is asked for.
var (
	renamed = map[string]string{
		"metrics-addr": "metrics-bind-address", "enable-leader-election": "leader-elect", "zap-log-level": "log-level",
	}
	ignored = []string{
		"metrics-require-rbac", "enable-http2", "zap-devel", "zap-stacktrace-level", "zap-time-encoding",
		"proxy-port", "graceful-shutdown-timeout", "ansible-log-events",
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
	s.ansible.ShowOutput = strings.EqualFold(os.Getenv("ANSIBLE_DEBUG_LOGS"), "true")
	var rest []string
	if len(args) > 0 && args[0] == "run" {
		args = args[1:]
	}
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
		rest = append(rest, passed(name, value))
	}
	return s, rest, nil
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
		if s.period, err = time.ParseDuration(value); err == nil && s.period < 0 {
			err = fmt.Errorf("want a duration such as 5m, or 0 for none")
		}
	case "max-concurrent-reconciles":
		if s.concurrency, err = strconv.Atoi(value); err == nil && s.concurrency < 1 {
			err = fmt.Errorf("want 1 or more")
		}
	case "suppress-override-values":
		s.hideOverrides, err = strconv.ParseBool(value)
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
	case "ansible-run-timeout":
		if s.ansible.RunTimeout, err = time.ParseDuration(value); err == nil && s.ansible.RunTimeout <= 0 {
			err = fmt.Errorf("want a duration such as 30m")
		}
	default:
		return false, nil
	}
	return true, err
}

// passed converts a flag to the flag of operon.Main.
func passed(name, value string) string {
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
