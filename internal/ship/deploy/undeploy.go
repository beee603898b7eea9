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
	"github.com/operon-framework/operon/internal/tools/up"
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
// are kept, and this is reported. Unless data is kept, nothing is removed if custom resources would wait for an operator that does not run.
func Undeploy(ctx context.Context, options UndeployOptions) (*Removal, error) {
	started := time.Now()
	options.Commands = options.commands()
	u := &undeployer{options: options}
	if err := u.find(ctx); err != nil {
		return nil, err
	}
	if err := u.inspect(ctx); err != nil {
		return nil, err
	}
	if err := u.confirm(ctx); err != nil {
		return nil, err
	}
	bounded, cancel := u.options.bound(ctx) // the time in which a user answered does not count
	defer cancel()
	if err := u.permitted(bounded); err != nil {
		return nil, err
	}
	if err := u.attended(bounded); err != nil {
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

// bound returns a context that ends after the timeout.
func (o UndeployOptions) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, o.timeout(), fmt.Errorf("not done after %s", o.timeout()))
}

// inspect determines which objects to remove.
func (u *undeployer) inspect(ctx context.Context) error {
	ctx, cancel := u.options.bound(ctx)
	defer cancel()
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
	u.data, err = u.findData(ctx)
	return err
}

// confirm asks the user whether to keep the data.
func (u *undeployer) confirm(ctx context.Context) error {
	deletion := DataDeletion{Operator: u.record.operator}
	for _, object := range u.which(kube.IsCRD) {
		if name := object.GetName(); u.data.usedBy(name) == "" {
			deletion.CRDs = append(deletion.CRDs, name)
			deletion.Objects += u.data.count[name]
		}
	}
	if !u.options.KeepData || u.options.DryRun || u.options.Confirm == nil || len(deletion.CRDs) == 0 || len(u.data.unlisted) > 0 {
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
	var needs []rbac.Permission
	for _, object := range slices.Concat(u.members, u.data.going()) {
		more, err := u.cluster.needs([]*unstructured.Unstructured{object}, u.verbs(object)...)
		if err != nil {
			return err
		}
		needs = append(needs, more...)
	}
	needs = append(needs, rbac.Permission{Verb: "list", Resource: "pods", Namespace: u.record.namespace})
	for _, kind := range slices.Concat(up.CallingKinds, policyKinds) {
		if u.registers(kind) {
			needs = append(needs, permissions(kind, "", "list", "delete")...)
		}
	}
	for _, kind := range ownKinds {
		needs = append(needs, permissions(kind, u.record.namespace, "list", "delete")...)
	}
	return u.cluster.mayAll(ctx, needs)
}

// verbs returns what is to be done with an object of the deployment, or with a custom resource. A namespace that has other objects is kept without
// its label, and a definition that another deployment uses gets the label of that one.
func (u *undeployer) verbs(object *unstructured.Unstructured) []string {
	switch {
	case kube.IsCRD(object) && u.keeps(object, u.data) != "":
		if u.data.users[object.GetName()] == nil {
			return nil
		}
		return []string{"patch"}
	case isNamespace(object):
		return []string{"get", "delete", "patch"}
	case slices.Contains(u.members, object):
		return []string{"get", "delete"}
	case u.options.KeepData:
		return []string{"get"}
	case u.options.GiveUpFinalizers:
		return []string{"get", "delete", "list", "patch"}
	}
	return []string{"get", "delete", "list"}
}

// foretell lists what would be done.
func (u *undeployer) foretell() {
	for _, object := range slices.Concat(u.data.going(), u.members) {
		if reason := u.keeps(object, u.data); reason != "" {
			u.keep(object, reason)
			continue
		}
		u.result.Removed = append(u.result.Removed, addressOf(object))
	}
	u.data.tell(u)
}

// keeps returns the reason why an object of the deployment is kept, or "" if it is removed.
func (u *undeployer) keeps(object *unstructured.Unstructured, among *data) string {
	if !kube.IsCRD(object) {
		return ""
	}
	if u.options.KeepData {
		return fmt.Sprintf("kept with its custom resources; %s deletes both", u.options.Commands.DeleteData)
	}
	return among.usedBy(object.GetName())
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
		if u.keeps(object, u.data) == "" {
			u.options.say("  %s", addressOf(object))
		}
	}
}

func (u *undeployer) removeDefinitions(ctx context.Context, definitions []*unstructured.Unstructured) error {
	var going []*unstructured.Unstructured
	for _, definition := range definitions {
		reason := u.keeps(definition, u.data)
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
