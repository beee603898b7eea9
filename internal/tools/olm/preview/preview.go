// Package preview compares an InstallPlan with the cluster: what it would create and change, object by object, what its
// CustomResourceDefinitions do to stored objects, and which permissions are new. It writes nothing.
//
// The manifests are those that the manager records while a plan waits for approval. Without them, only the names of the objects are known.
package preview

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Preview is what a plan would change. Its JSON is stable.
type Preview struct {
	Namespace string `json:"namespace"`
	Plan      string `json:"plan"`
	Phase     string `json:"phase"`
	Approved  bool   `json:"approved"`
	// CSVs are the versions of the plan, and Replaces is the version that is installed.
	CSVs     []string `json:"csvs"`
	Replaces string   `json:"replaces,omitempty"`
	// Problems are why the plan would fail.
	Problems []string `json:"problems,omitempty"`
	Objects  []Object `json:"objects"`
	// Converted describes the objects that are written in another version of their API than in the bundle.
	Converted string `json:"converted,omitempty"`
	// Definitions are what the CustomResourceDefinitions do to stored objects.
	Definitions []*crdcompat.Result `json:"definitions,omitempty"`
	// NewPermissions are those that the installed version does not have, and GonePermissions those that the new one does not have.
	NewPermissions  []olm.Right `json:"newPermissions"`
	GonePermissions []olm.Right `json:"gonePermissions"`
	NewImages       []string    `json:"newImages"`
	GoneImages      []string    `json:"goneImages"`
	// Unknown names what could not be compared, and why.
	Unknown []string `json:"unknown,omitempty"`
}

// Action is what a plan does with an object.
type Action string

// The actions.
const (
	Create  Action = "create"
	Alter   Action = "change"
	Leave   Action = "leave"
	Remove  Action = "remove"
	Unknown Action = "unknown"
)

// Object is an object of a plan.
type Object struct {
	Action    Action   `json:"action"`
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Changes   []Change `json:"changes,omitempty"`
}

// Of compares a plan with the cluster. Objects that the caller may not read are listed in Unknown.
func Of(ctx context.Context, client *kube.Client, config *rest.Config, state *olm.State, of *olm.InstallPlan) (*Preview, error) {
	p := &previewer{client: client, config: config, state: state, plan: of, before: state.Before(of), next: &olm.Version{}}
	p.Preview = Preview{
		Namespace: of.Namespace, Plan: of.Name, Phase: of.Status.Phase, Approved: of.Spec.Approved, CSVs: of.Spec.ClusterServiceVersionNames,
		Objects: []Object{}, NewPermissions: []olm.Right{}, GonePermissions: []olm.Right{}, NewImages: []string{}, GoneImages: []string{},
		Unknown: slices.Clone(state.Lacks),
	}
	if p.before != nil {
		p.Replaces = p.before.Name
	}
	if converted := meta.FindStatusCondition(of.Status.Conditions, "Converted"); converted != nil {
		p.Converted = terminal.Line(converted.Message)
	}
	if of.Status.Phase == olm.PlanRequiresApproval && of.Status.Message != "" {
		p.Problems = append(p.Problems, terminal.Line(of.Status.Message))
	}
	if len(of.Status.Plan) == 0 {
		p.lack("the objects of the plan: the manager has not read its bundle yet")
	}
	for i := range of.Status.Plan {
		if err := p.step(ctx, &of.Status.Plan[i]); err != nil {
			return nil, err
		}
	}
	return &p.Preview, nil
}

// previewer compares one plan.
type previewer struct {
	Preview

	client *kube.Client
	config *rest.Config
	state  *olm.State
	plan   *olm.InstallPlan
	before *olm.Version
	// next is the version of the plan.
	next *olm.Version
}

func (p *previewer) lack(format string, args ...any) {
	if text := terminal.Line(fmt.Sprintf(format, args...)); !slices.Contains(p.Unknown, text) {
		p.Unknown = append(p.Unknown, text)
	}
}

func (p *previewer) step(ctx context.Context, step *olm.Step) error {
	object, err := step.Object()
	if err != nil {
		return err
	}
	if object == nil {
		p.Objects = append(p.Objects, Object{Action: Unknown, Kind: step.Resource.Kind, Name: step.Resource.Name})
		p.lack("the content of the objects: %s", p.without(step))
		return nil
	}
	switch object.GetKind() {
	case "CustomResourceDefinition":
		return p.definition(ctx, object)
	case "ClusterServiceVersion":
		if err := p.version(object); err != nil {
			return err
		}
	}
	return p.object(ctx, object)
}

// without says why a step has no manifest.
func (p *previewer) without(step *olm.Step) string {
	if p.plan.Spec.Approved {
		return "the plan is approved, and only plans that wait for approval contain it"
	}
	return fmt.Sprintf("the plan does not contain %s %s, because all objects together are too large", step.Resource.Kind, step.Resource.Name)
}

// definition judges a CustomResourceDefinition.
func (p *previewer) definition(ctx context.Context, wanted *unstructured.Unstructured) error {
	object := Object{Kind: wanted.GetKind(), Name: wanted.GetName(), Action: Unknown}
	defer func() { p.Objects = append(p.Objects, object) }()
	for _, one := range p.next.Spec.Webhooks {
		if slices.Contains(one.ConversionCRDs, wanted.GetName()) {
			if err := unstructured.SetNestedField(wanted.Object, "operator", "metadata", "annotations", crdcompat.ConversionAnnotation); err != nil {
				return err
			}
		}
	}
	report, err := crdcompat.Check(ctx, p.config, nil, wanted)
	if apierrors.IsForbidden(err) {
		p.lack("what %s does to stored objects: %v", wanted.GetName(), err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("check what it does to stored objects: %w", err)
	}
	for _, result := range report.Definitions {
		p.Definitions = append(p.Definitions, result)
		object.Action = map[crdcompat.State]Action{crdcompat.New: Create, crdcompat.Changed: Alter, crdcompat.Unchanged: Leave}[result.State]
		if slices.ContainsFunc(result.Findings, (*crdcompat.Finding).Invalidates) {
			p.Problems = append(p.Problems, fmt.Sprintf("CustomResourceDefinition %s would break stored objects", result.Name))
		}
	}
	return nil
}

// version compares a version with the installed one: permissions, images and Deployments.
func (p *previewer) version(object *unstructured.Unstructured) error {
	next, err := olm.Decode[olm.Version](object)
	if err != nil {
		return err
	}
	p.next = next
	everywhere := p.state.Everywhere(p.Namespace)
	p.NewPermissions = append(p.NewPermissions, next.NewRights(p.before, everywhere)...)
	var images []string
	old := map[string]olm.Deployment{}
	if p.before != nil {
		p.GonePermissions = append(p.GonePermissions, p.before.NewRights(next, everywhere)...)
		images = p.before.Images()
		for _, one := range p.before.Spec.Install.Spec.Deployments {
			old[one.Name] = one
		}
	}
	p.NewImages = append(p.NewImages, except(next.Images(), images)...)
	p.GoneImages = append(p.GoneImages, except(images, next.Images())...)
	for _, one := range next.Spec.Install.Spec.Deployments {
		p.Objects = append(p.Objects, p.deployment(one, old))
		delete(old, one.Name)
	}
	for name := range old {
		p.Objects = append(p.Objects, Object{Action: Remove, Kind: "Deployment", Namespace: p.Namespace, Name: name})
	}
	return nil
}

func (p *previewer) deployment(next olm.Deployment, old map[string]olm.Deployment) Object {
	object := Object{Action: Create, Kind: "Deployment", Namespace: p.Namespace, Name: next.Name}
	before, exists := old[next.Name]
	if !exists {
		return object
	}
	object.Changes = diff(before.Spec, next.Spec, true)
	object.Action = Leave
	if len(object.Changes) > 0 {
		object.Action = Alter
	}
	return object
}

func except(all, known []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(known, one) })
}

// object compares another object with the one in the cluster.
func (p *previewer) object(ctx context.Context, wanted *unstructured.Unstructured) error {
	object := Object{Kind: wanted.GetKind(), Namespace: wanted.GetNamespace(), Name: wanted.GetName(), Action: Unknown}
	defer func() { p.Objects = append(p.Objects, object) }()
	live, err := p.client.Get(ctx, wanted)
	switch {
	case apierrors.IsForbidden(err):
		p.lack("%v", err)
		return nil
	case meta.IsNoMatchError(err):
		p.Problems = append(p.Problems, fmt.Sprintf("the cluster does not have the kind %s", wanted.GroupVersionKind()))
		return nil
	case err != nil:
		return fmt.Errorf("read %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	case live == nil:
		object.Action = Create
		return p.role(nil, wanted)
	}
	if p.foreign(live) {
		p.Problems = append(p.Problems, fmt.Sprintf("%s %s exists and was not made from a bundle", live.GetKind(), live.GetName()))
	}
	for _, field := range []string{"status", "metadata"} {
		delete(wanted.Object, field)
	}
	object.Changes = concealed(live.GetKind(), diff(live.Object, wanted.Object, false))
	object.Action = Leave
	if len(object.Changes) > 0 {
		object.Action = Alter
	}
	return p.role(live, wanted)
}

// role adds the permissions of a Role of the bundle that the one in the cluster does not have.
func (p *previewer) role(live, wanted *unstructured.Unstructured) error {
	scope, isRole := map[string]string{"ClusterRole": olm.ScopeCluster, "Role": olm.ScopeNamespaces}[wanted.GetKind()]
	if !isRole {
		return nil
	}
	role, err := kube.ReadRole(wanted)
	if err != nil {
		return err
	}
	var had []rbacv1.PolicyRule
	if live != nil {
		before, err := kube.ReadRole(live)
		if err != nil {
			return err
		}
		had = before.Rules
	}
	p.NewPermissions = append(p.NewPermissions, p.next.RoleRights(wanted.GetKind()+" "+wanted.GetName(), scope, had, role.Rules)...)
	return nil
}

// foreign reports whether the manager refuses to change an object, because it was not made for the version or the one before.
func (p *previewer) foreign(live *unstructured.Unstructured) bool {
	if live.GetKind() == "ServiceAccount" || live.GetKind() == "ClusterServiceVersion" {
		return false
	}
	versions := append(slices.Clone(p.CSVs), p.Replaces)
	if live.GetNamespace() != "" && slices.ContainsFunc(live.GetOwnerReferences(), func(one metav1.OwnerReference) bool {
		return one.Kind == "ClusterServiceVersion" && slices.Contains(versions, one.Name)
	}) {
		return false // the Operator Lifecycle Manager sets no labels on it
	}
	return !olm.IsOwned(live.GetLabels(), p.Namespace, versions...)
}

// concealed removes the values of Secrets.
func concealed(kind string, changes []Change) []Change {
	if kind != "Secret" {
		return changes
	}
	for i := range changes {
		changes[i].From, changes[i].To = "(not shown)", "(not shown)"
	}
	return changes
}
