package manifests

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Of returns the operator of a project, with its name, definitions, policies and permissions as declared in the project, the environment variables,
// volumes and arguments of its own Deployment in config/manager, and defaults for everything else. It runs in the namespace NAME-system.
//
// It fails if a Role or that Deployment cannot be read, and names its place.
func Of(p *project.Project, image string) (Operator, error) {
	o := Operator{
		Name:      p.Operator(),
		Image:     image,
		Replicas:  DefaultReplicas,
		Resources: DefaultResources(),
		Grants:    p.Grants,
	}
	ansible, err := p.Ansible()
	if err != nil {
		return o, err
	}
	if ansible {
		o.Resources, o.Scratch = AnsibleResources(), true
	}
	o.Namespace = o.Name + "-system"
	o.place(p)
	if err := o.adopt(p); err != nil {
		return o, err
	}
	for _, definition := range p.CRDs {
		o.Definitions = append(o.Definitions, definition.Unstructured)
		o.Webhooks = o.Webhooks || definition.GetAnnotations()["operon.dev/conversion"] == "operator"
	}
	for _, policy := range p.Policies {
		o.Policies = append(o.Policies, policy.Unstructured)
	}
	for _, grant := range p.Grants {
		role, err := grant.ReadRole()
		if err != nil {
			return o, err
		}
		o.Webhooks = o.Webhooks || slices.ContainsFunc(role.Rules, registersWebhooks)
	}
	return o, nil
}

// place sets the flags for the addresses on which an operator that is not built with Operon listens.
func (o *Operator) place(p *project.Project) {
	if p.Module.Framework == project.Operon {
		return
	}
	o.Flags = append([]string{}, p.Flags(project.Placing{Metrics: ":8080", Health: ":8081", Elect: true, Secure: true})...)
	o.Unprobed = !p.Main.Mentions("health-probe-bind-address")
	o.Unmetered = !p.Main.Mentions("metrics-bind-address") && !p.Main.Mentions("metrics-addr")
}

// registersWebhooks reports whether a rule allows an operator to register webhooks. API servers send requests to such an
// operator.
func registersWebhooks(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Resources, "validatingwebhookconfigurations") || slices.Contains(rule.Resources, "mutatingwebhookconfigurations")
}
