package runner

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Permissions are applied when each rule of each Role is, except Roles that cannot be checked.
func TestUnknownRights(t *testing.T) {
	t.Parallel()
	role := project.Object{Unstructured: read(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules:\n"+
		"- {apiGroups: [''], resources: [secrets], verbs: [get]}\n- {apiGroups: [apps], resources: [deployments], verbs: [get, list]}\n")[0]}
	together := project.Object{Unstructured: role.DeepCopy()}
	together.Object["aggregationRule"] = map[string]any{}
	secrets := authorizationv1.ResourceRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}
	deployments := authorizationv1.ResourceRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list"}}
	for name, c := range map[string]struct {
		grant project.Grant
		known []authorizationv1.ResourceRule
		want  string
	}{
		"all":        {project.Grant{Role: role}, []authorizationv1.ResourceRule{deployments, secrets}, ""},
		"one":        {project.Grant{Role: role}, []authorizationv1.ResourceRule{secrets}, "the API server has not applied [get list] on [deployments] yet"},
		"none":       {project.Grant{Role: role}, nil, "the API server has not applied [get] on [secrets] yet"},
		"elsewhere":  {project.Grant{Role: role, Namespace: "other"}, nil, ""},
		"of another": {project.Grant{Name: "view"}, nil, ""},
		"aggregated": {project.Grant{Role: together}, nil, ""},
	} {
		err := unknown([]project.Grant{c.grant}, c.known)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
