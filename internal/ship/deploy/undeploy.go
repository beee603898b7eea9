package deploy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/rbac"
)

// UndeployOptions are the options of Undeploy.
type UndeployOptions struct {
	Target
	// KeepData keeps the CRDs and the custom resources.
	KeepData bool
	// Confirm asks the user whether to delete the CRDs and custom resources in spite of KeepData. If it is nil, they are kept.
	Confirm func(DataDeletion) (bool, error)
	// GiveUpFinalizers removes the finalizers of custom resources that no operator clears.
	GiveUpFinalizers bool
	// DryRun lists what would be removed.
	DryRun bool
}

// DataDeletion is the deletion that a user confirms.
type DataDeletion struct {
	Operator string
	// CRDs are the names of the CRDs that would be deleted, and Objects the number of their custom resources.
	CRDs    []string
	Objects int
}

// Removal is the result of Undeploy.
type Removal struct {
	Operator  string `json:"operator"`
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	DryRun    bool   `json:"dryRun,omitempty"`
	// Absent reports that there was no deployment to remove.
	Absent bool `json:"absent,omitempty"`
	// Removed lists the deleted objects, in order.
	Removed []string `json:"removed"`
	// Kept lists the objects that remain, each with the reason.
	Kept    []string `json:"kept,omitempty"`
	Seconds float64  `json:"seconds"`
}

// undeployer is the state of one Undeploy.
type undeployer struct {
	options UndeployOptions
	cluster *cluster
	record  *record
	stored  *unstructured.Unstructured // the record, or nil if there is none
	members []*unstructured.Unstructured
	data    *data
	result  *Removal
}

// Undeploy removes a deployment: first custom resources, while the operator clears their finalizers, then the operator and
// everything that it created for itself, then the definitions and the namespace. Objects that another client needs or created
// are kept, and this is reported. Nothing is removed if custom resources would wait for an operator that does not run.
func Undeploy(ctx context.Context, options UndeployOptions) (*Removal, error) {
	started := time.Now()
	options.Commands = options.commands()
	u := &undeployer{options: options}
	if err := u.find(ctx); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, options.timeout(), fmt.Errorf("not done after %s", options.timeout()))
	defer cancel()
	if err := u.prepare(bounded); err != nil {
		return nil, err
	}
	if len(u.members) == 0 && u.stored == nil {
		u.result.Absent = true
		options.warn("nothing to remove: %s is not deployed in namespace %s of %s", u.record.operator, u.record.namespace, u.cluster.Title)
		return u.result, nil
	}
	if options.DryRun {
		u.foretell()
		return u.result, nil
	}
	err := u.removeAll(bounded)
	u.result.Seconds = time.Since(started).Seconds()
	return u.result, err
}

// find finds the deployment of the project.
func (u *undeployer) find(ctx context.Context) error {
	name, namespace, err := u.options.names()
	if err != nil {
		return err
	}
	if u.cluster, err = connect(ctx, u.options.Where); err != nil {
		return err
	}
	u.result = &Removal{Operator: name, Namespace: namespace, Cluster: u.cluster.Title, DryRun: u.options.DryRun, Removed: []string{}}
	u.record = newRecord(name, namespace)
	return nil
}

// names returns the names of the operator and its namespace. It does not read manifests, which may be invalid or deleted.
func (t Target) names() (name, namespace string, err error) {
	p, err := project.Identify(t.Dir, project.Options{Main: t.Main})
	if err != nil {
		return "", "", err
	}
	name = p.Operator()
	return name, cmp.Or(t.Namespace, name+"-system"), nil
}

// prepare determines which objects to remove, and whether this is possible.
func (u *undeployer) prepare(ctx context.Context) error {
	if err := u.read(ctx); err != nil {
		return err
	}
	var err error
	if u.members, err = u.cluster.members(ctx, u.record); err != nil {
		return err
	}
	for _, object := range u.members {
		if kube.IsCRD(object) && !slices.Contains(u.record.definitions, object.GetName()) {
			u.record.definitions = append(u.record.definitions, object.GetName())
		}
	}
	if u.data, err = u.findData(ctx); err != nil {
		return err
	}
	if err := u.confirm(ctx); err != nil {
		return err
	}
	if err := u.permitted(ctx); err != nil {
		return err
	}
	return u.attended(ctx)
}

// confirm asks the user whether to keep the data.
func (u *undeployer) confirm(ctx context.Context) error {
	deletion := DataDeletion{Operator: u.record.operator, Objects: len(u.data.staying)}
	for _, object := range u.which(kube.IsCRD) {
		if u.data.users[object.GetName()] == nil {
			deletion.CRDs = append(deletion.CRDs, object.GetName())
		}
	}
	if !u.options.KeepData || u.options.DryRun || u.options.Confirm == nil || len(deletion.CRDs) == 0 {
		return nil
	}
	confirmed, err := u.options.Confirm(deletion)
	if err != nil || !confirmed {
		return err
	}
	u.options.KeepData = false
	u.data, err = u.findData(ctx)
	return err
}

// usualKinds are the kinds of a deployment without a record, because it was killed before it wrote one, or a client deleted
// it.
var usualKinds = plan.ParseGroupKinds("Namespace,ServiceAccount,Service,Deployment.apps,PodDisruptionBudget.policy,NetworkPolicy.networking.k8s.io," +
	"Role.rbac.authorization.k8s.io,RoleBinding.rbac.authorization.k8s.io,ClusterRole.rbac.authorization.k8s.io,ClusterRoleBinding.rbac.authorization.k8s.io," +
	"CustomResourceDefinition.apiextensions.k8s.io,ValidatingAdmissionPolicy.admissionregistration.k8s.io,ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io")

// read reads the record.
func (u *undeployer) read(ctx context.Context) error {
	found, err := u.cluster.readRecord(ctx, u.record.operator, u.record.namespace)
	if err != nil {
		return err
	}
	if found == nil {
		for _, kind := range usualKinds {
			u.record.kinds[kind] = true
		}
		return nil
	}
	u.record = found
	u.stored, err = u.cluster.Get(ctx, found.object())
	return err
}

// permitted checks the permissions for everything that is to be done.
func (u *undeployer) permitted(ctx context.Context) error {
	removed := slices.DeleteFunc(slices.Concat(u.members, u.data.going()), func(object *unstructured.Unstructured) bool {
		return u.keeps(object, u.data.users) != ""
	})
	needs, err := u.cluster.needs(removed, "get", "delete")
	if err != nil {
		return err
	}
	verbs := []string{"list"}
	if u.options.GiveUpFinalizers {
		verbs = append(verbs, "patch")
	}
	more, err := u.cluster.needs(u.data.going(), verbs...)
	if err != nil {
		return err
	}
	needs = append(append(needs, more...), rbac.Permission{Verb: "list", Resource: "pods", Namespace: u.record.namespace})
	for _, kind := range slices.Concat(callingKinds, policyKinds) {
		needs = append(needs, permissions(kind, "", "list", "delete")...)
	}
	for _, kind := range ownKinds {
		needs = append(needs, permissions(kind, u.record.namespace, "list", "delete")...)
	}
	return u.cluster.mayAll(ctx, needs)
}

// foretell lists what would be done.
func (u *undeployer) foretell() {
	for _, object := range slices.Concat(u.data.going(), u.members) {
		if reason := u.keeps(object, u.data.users); reason != "" {
			u.keep(object, reason)
			continue
		}
		u.result.Removed = append(u.result.Removed, addressOf(object))
	}
	u.data.tell(u)
}

// keeps returns the reason why an object of the deployment is kept, or "" if it is removed.
func (u *undeployer) keeps(object *unstructured.Unstructured, users map[string]*record) string {
	if !kube.IsCRD(object) {
		return ""
	}
	if u.options.KeepData {
		return fmt.Sprintf("kept with its custom resources; %s deletes both", u.options.Commands.DeleteData)
	}
	if other := users[object.GetName()]; other != nil {
		return fmt.Sprintf("the deployment of %s in namespace %s also uses it", other.operator, other.namespace)
	}
	return ""
}

func (u *undeployer) keep(object *unstructured.Unstructured, reason string) {
	line := addressOf(object) + ": " + reason
	if slices.Contains(u.result.Kept, line) {
		return
	}
	u.result.Kept = append(u.result.Kept, line)
	u.options.say("kept %s", line)
}

// removeAll removes in order: objects that the operator must finalize, the operator, and the objects that it needed.
func (u *undeployer) removeAll(ctx context.Context) error {
	u.announce()
	if err := u.removeData(ctx); err != nil {
		return err
	}
	if err := u.removeOperator(ctx); err != nil {
		return err
	}
	if err := u.removeDefinitions(ctx, u.which(kube.IsCRD)); err != nil {
		return err
	}
	u.data.tell(u)
	if u.stored != nil {
		if err := u.remove(ctx, []*unstructured.Unstructured{u.stored}); err != nil {
			return err
		}
	}
	return u.removeNamespaces(ctx, u.which(isNamespace))
}

// removeOperator stops the operator before it removes the operator's permissions. In between, it removes the objects that a
// running operator would create again.
func (u *undeployer) removeOperator(ctx context.Context) error {
	if err := u.remove(ctx, u.which(isDeployment)); err != nil {
		return err
	}
	if err := u.removeOwn(ctx); err != nil {
		return err
	}
	return u.remove(ctx, u.which(func(object *unstructured.Unstructured) bool {
		return !isNamespace(object) && !kube.IsCRD(object) && !isDeployment(object)
	}))
}

// which returns the members for which is returns true.
func (u *undeployer) which(is func(*unstructured.Unstructured) bool) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(u.members), func(object *unstructured.Unstructured) bool { return !is(object) })
}

// announce lists the objects to be removed before any is removed.
func (u *undeployer) announce() {
	u.options.say("removing the deployment of %s in namespace %s of %s: %s, and %s of its own", u.record.operator, u.record.namespace, u.cluster.Title, plural.Count(len(u.data.going()), "custom resource"), plural.Count(len(u.members), "object"))
	for _, object := range slices.Concat(u.data.going(), u.members) {
		if u.keeps(object, u.data.users) == "" {
			u.options.say("  %s", addressOf(object))
		}
	}
}

func (u *undeployer) removeDefinitions(ctx context.Context, definitions []*unstructured.Unstructured) error {
	var going []*unstructured.Unstructured
	for _, definition := range definitions {
		reason := u.keeps(definition, u.data.users)
		if reason == "" {
			going = append(going, definition)
			continue
		}
		u.keep(definition, reason)
		if err := u.handOver(ctx, definition); err != nil {
			return err
		}
	}
	return u.remove(ctx, going)
}
