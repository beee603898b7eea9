package bundle_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Permissions of operators that own Lamps, and the findings about them. An empty list of findings means that there is none.
func TestPermissions(t *testing.T) {
	t.Parallel()
	const (
		watches  = "{apiGroups: [light.example.com], resources: [lamps], verbs: [get, list, watch]}"
		status   = "    storage: true\n    subresources: {status: {}}\n"
		clusters = "{type: OwnNamespace, supported: true}"
	)
	for name, test := range map[string]struct {
		rules string
		// edits are pairs of texts in the CSV.
		edits  []string
		status bool
		// objects is a file with objects.
		objects string
		want    []string
	}{
		"enough":            {rules: watches},
		"nothing":           {rules: "", want: []string{"may not get, list or watch lamps.light.example.com, which it owns"}},
		"another kind":      {rules: "{apiGroups: [light.example.com], resources: [sockets], verbs: [get, list, watch]}", want: []string{"may not get, list or watch lamps", "advice spec.install.spec.clusterPermissions[0].rules[0]: no CustomResourceDefinition of the bundle and no required one defines the resource sockets in light.example.com"}},
		"no watch":          {rules: "{apiGroups: [light.example.com], resources: [lamps], verbs: [list]}", want: []string{"may list lamps.light.example.com, but not watch them"}},
		"no list":           {rules: "{apiGroups: [light.example.com], resources: [lamps], verbs: [get, watch]}", want: []string{"may watch lamps.light.example.com, but not list them"}},
		"only get":          {rules: "{apiGroups: [light.example.com], resources: [lamps], verbs: [get]}"},
		"all kinds":         {rules: "{apiGroups: [light.example.com], resources: ['*'], verbs: ['*']}", status: true},
		"one object":        {rules: "{apiGroups: [light.example.com], resources: [lamps], resourceNames: [one], verbs: [get, list, watch]}"},
		"no status":         {rules: watches + ", {apiGroups: [light.example.com], resources: [lamps], verbs: [update]}", status: true, want: []string{"not their status, which is a subresource: lamps/status"}},
		"status":            {rules: watches + ", {apiGroups: [light.example.com], resources: [lamps, lamps/status], verbs: [update]}", status: true},
		"all status":        {rules: watches + ", {apiGroups: [light.example.com], resources: [lamps, '*/status'], verbs: [patch]}", status: true},
		"status of nothing": {rules: watches + ", {apiGroups: [light.example.com], resources: [lamps/status], verbs: [update]}", want: []string{"lamps.light.example.com has no subresource status"}},
		"finalizers":        {rules: watches + ", {apiGroups: [light.example.com], resources: [lamps/finalizers], verbs: [update]}"},
		"singular":          {rules: watches + ", {apiGroups: [apps], resources: [deployment], verbs: [get]}", want: []string{"warning spec.install.spec.clusterPermissions[0].rules[1]: Kubernetes has no resource deployment in apps"}},
		"other group":       {rules: watches + ", {apiGroups: [''], resources: [deployments, pods/log], verbs: [get]}", want: []string{"Kubernetes has no resource deployments in the core group"}},
		"one of the groups": {rules: watches + ", {apiGroups: ['', apps], resources: [deployments, pods], verbs: [get]}"},
		"unknown group":     {rules: watches + ", {apiGroups: [route.example.org], resources: [routes], verbs: [get]}"},
		"not a resource":    {rules: watches + ", {apiGroups: [''], resources: [users, groups], verbs: [impersonate]}, {nonResourceURLs: [/metrics], verbs: [get]}"},
		"removed":           {rules: watches + ", {apiGroups: [policy], resources: [podsecuritypolicies], verbs: [get]}"}, // another rule
		"in namespaces":     {rules: watches + ", {apiGroups: [''], resources: [nodes], verbs: [get]}", edits: []string{"clusterPermissions", "permissions", "{type: OwnNamespace, supported: false}", clusters}, want: []string{"permissions[0].rules[1]: nodes is cluster-scoped"}},
		"for all only":      {rules: watches + ", {apiGroups: [''], resources: [nodes], verbs: [get]}", edits: []string{"clusterPermissions", "permissions"}},
		"leader election":   {rules: watches, edits: []string{"- name: manager\n", "- name: manager\n                args: [--leader-elect]\n"}, want: []string{"container manager of Deployment lamp-operator has the argument --leader-elect, and the operator may not create leases.coordination.k8s.io"}},
		"no election":       {rules: watches, edits: []string{"- name: manager\n", "- name: manager\n                args: [--leader-elect=false]\n"}},
		"leases":            {rules: watches + ", {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, get, update]}", edits: []string{"- name: manager\n", "- name: manager\n                args: [--leader-elect]\n"}},
		"metrics":           {rules: watches, edits: []string{"image: registry.example.com/lamp-operator:1.1.0\n", "image: registry.example.com/kube-rbac-proxy:1\n"}, want: []string{"may not create tokenreviews.authentication.k8s.io"}},
		"delegated metrics": {rules: watches, edits: []string{"image: registry.example.com/lamp-operator:1.1.0\n", "image: registry.example.com/kube-rbac-proxy:1\n"}, objects: binding("system:auth-delegator")},
		"own role":          {objects: binding("lamps") + "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: lamps}, rules: [" + watches + "]}\n"},
		"foreign role":      {objects: binding("cluster-admin")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, "lamp")
			edit(t, dir, csvFile, "rules: ["+watches+"]", "rules: ["+test.rules+"]")
			for i := 0; i < len(test.edits); i += 2 {
				edit(t, dir, csvFile, test.edits[i], test.edits[i+1])
			}
			if test.status {
				edit(t, dir, crdFile, "    storage: true\n", status)
			}
			if test.objects != "" {
				if err := os.WriteFile(filepath.Join(dir, "manifests", "rbac.yaml"), []byte(test.objects), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var found []string
			for _, one := range lint(t, "", dir).Findings {
				if one.Rule == "csv-missing-permissions" || one.Rule == "csv-unused-permissions" {
					found = append(found, string(one.Severity)+" "+one.Message)
				}
			}
			said := func(want string) bool {
				return slices.ContainsFunc(found, func(message string) bool { return strings.Contains(message, want) })
			}
			if len(found) != len(test.want) || slices.ContainsFunc(test.want, func(want string) bool { return !said(want) }) {
				t.Errorf("want %q, found %q", test.want, found)
			}
		})
	}
}

// binding returns a ClusterRoleBinding of the operator's ServiceAccount.
func binding(role string) string {
	return "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: lamps}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: '" +
		role + "'}, subjects: [{kind: ServiceAccount, name: lamp-operator, namespace: placeholder}]}\n"
}
