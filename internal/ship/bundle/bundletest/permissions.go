package bundletest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

// auditEvent is a line of the audit log.
type auditEvent struct {
	Verb      string
	User      struct{ Username string }
	ObjectRef *struct{ Resource, Subresource, Namespace, Name, APIGroup string }
	// RequestURI is the path of a request that is not about objects.
	RequestURI  string
	Annotations map[string]string
}

// permission returns the permission that the request needed.
func (e *auditEvent) permission() rbac.Permission {
	if e.ObjectRef == nil {
		path, _, _ := strings.Cut(e.RequestURI, "?")
		return rbac.Permission{Verb: e.Verb, URL: path}
	}
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return rbac.Permission{Verb: e.Verb, Group: e.ObjectRef.APIGroup, Resource: resource, Name: e.ObjectRef.Name, Namespace: e.ObjectRef.Namespace}
}

// requests are the permissions that requests of users needed, by whether they had it.
type requests struct{ allowed, refused []rbac.Permission }

func (r *requests) any() bool { return r != nil && len(r.allowed)+len(r.refused) > 0 }

// readAudit reads the requests of users from an audit log.
func readAudit(path string, users []string) (*requests, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	found := &requests{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var event auditEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // a line that is being written
		}
		if !slices.Contains(users, event.User.Username) {
			continue
		}
		to := &found.allowed
		if event.Annotations["authorization.k8s.io/decision"] == "forbid" {
			to = &found.refused
		}
		if one := event.permission(); !slices.Contains(*to, one) {
			*to = append(*to, one)
		}
	}
	return found, lines.Err()
}

// users returns the names of the operator's ServiceAccounts.
func (t *test) users() []string {
	var all []string
	for _, v := range []*version{t.previous, t.bundle} {
		if v == nil {
			continue
		}
		install := v.CSV.Spec.Install.Spec
		for _, one := range slices.Concat(install.Permissions, install.ClusterPermissions) {
			all = append(all, one.ServiceAccountName)
		}
		for _, one := range install.Deployments {
			all = append(all, accountOf(one.Spec.Template.Spec.ServiceAccountName))
		}
	}
	for i, name := range all {
		all[i] = "system:serviceaccount:" + t.namespace + ":" + name
	}
	return all
}

// checkPermissions looks for refused requests of the operator in the audit log, and for permissions that it did not use.
func (t *test) checkPermissions(ctx context.Context) (Stage, error) {
	stage := Stage{Version: t.bundle.CSV.Name}
	var found *requests
	err := t.await(ctx, func(still time.Duration) (done bool, state string, err error) { // it may have started just now
		found, err = readAudit(t.audit, t.users())
		return t.crashed || found.any() || still > min(timing.firstRequest, t.Idle/2), "the operator starts", err
	})
	if err != nil {
		return stage, err
	}
	if !found.any() && t.crashed {
		return stage, skipError("the operator has ended")
	}
	if !found.any() {
		return stage, errors.New("the operator has sent no request: does it use $KUBECONFIG, or the files of its ServiceAccount?")
	}
	var lines []string
	for _, one := range found.refused {
		if one.Resource == "events" { // without them, everything else works
			stage.Notes = append(stage.Notes, "the operator may not "+one.String())
			continue
		}
		lines = append(lines, "the operator may not "+one.String())
	}
	if unused := t.unused(found.allowed); len(unused) > 0 {
		stage.Notes = append(stage.Notes, "permissions that the test did not need:\n"+strings.Join(unused, "\n"))
	}
	if len(lines) > 0 {
		return stage, fmt.Errorf("%s\nadd what it needs to permissions or clusterPermissions of the CSV", strings.Join(lines, "\n"))
	}
	return stage, nil
}

// unused returns the rules of the version under test that no request needed.
func (t *test) unused(used []rbac.Permission) []string {
	install := t.bundle.CSV.Spec.Install.Spec
	for _, one := range used {
		for _, verb := range one.Companions() {
			with := one
			with.Verb = verb
			used = append(used, with)
		}
	}
	var without []rbac.Permission
	for _, one := range slices.Concat(install.Permissions, install.ClusterPermissions) {
		for _, rule := range one.Rules {
			for _, granted := range rbac.Permissions(rule) {
				if !slices.ContainsFunc(used, granted.Covers) {
					without = append(without, granted)
				}
			}
		}
	}
	var all []string
	for _, rule := range rbac.Rules(without) {
		all = append(all, describe(rule))
	}
	return all
}

// describe returns a rule in one line.
func describe(rule rbacv1.PolicyRule) string {
	what := strings.Join(slices.Concat(rule.Resources, rule.NonResourceURLs), ", ")
	if groups := strings.Join(slices.DeleteFunc(slices.Clone(rule.APIGroups), func(group string) bool { return group == "" }), ", "); groups != "" {
		what += " of " + groups
	}
	if len(rule.ResourceNames) > 0 {
		what += " " + strings.Join(rule.ResourceNames, ", ")
	}
	return strings.Join(rule.Verbs, ", ") + " " + what
}
