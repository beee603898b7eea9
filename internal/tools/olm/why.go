package olm

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Answer is why a Subscription, a plan, a version or a ClusterExtension does not move. Its JSON is stable.
type Answer struct {
	Kind string `json:"kind"`
	// Namespace is empty for a ClusterExtension, which has none.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Settled means that nothing holds it.
	Settled bool `json:"settled"`
	// Why is one sentence.
	Why string `json:"why"`
	// Decides is the object and the field that the answer follows from.
	Decides *Field `json:"decides,omitempty"`
	// Do are commands and changes that let it move.
	Do []string `json:"do,omitempty"`
	// Chain are the objects from the one that was asked for to the one that decides.
	Chain []Link `json:"chain"`
	// Unknown names what could not be read.
	Unknown []string `json:"unknown,omitempty"`
}

// Field is a field of an object.
type Field struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Field     string `json:"field"`
}

// Link is an object with its state.
type Link struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// Names of kinds.
const (
	kindSubscription = "Subscription"
	kindPlan         = "InstallPlan"
	kindVersion      = "ClusterServiceVersion"
	kindCatalog      = "CatalogSource"
	kindGroup        = "OperatorGroup"

	kindExtension      = "ClusterExtension"
	kindClusterCatalog = "ClusterCatalog"
)

// Types of conditions of a Subscription.
const (
	conditionDeprecated = "Deprecated"
	conditionPending    = "InstallPlanPending"
	conditionResolution = "ResolutionFailed"
	conditionUnhealthy  = "CatalogSourcesUnhealthy"
)

// Why explains a Subscription, a version or a plan of the namespace, or a ClusterExtension that installs in it, whichever has the name, in this
// order. The error names those that exist.
func (s *State) Why(name string) (*Answer, error) {
	a := &Answer{Namespace: s.Namespace, Name: name, Chain: []Link{}, Unknown: s.Lacks}
	e := &explanation{Answer: a, state: s}
	subscription, version, plan := s.Subscription(s.Namespace, name), s.version(s.Namespace, name), s.Plan(s.Namespace, name)
	switch {
	case subscription != nil:
		a.Kind = kindSubscription
		e.subscription(subscription)
	case version != nil:
		a.Kind = kindVersion
		e.version(version)
	case plan != nil:
		a.Kind = kindPlan
		e.plan(plan)
	case s.Extension(name) != nil:
		a.Kind, a.Namespace = kindExtension, ""
		e.extension(s.Extension(name))
	default:
		return nil, s.unknown(name)
	}
	return a, nil
}

func (s *State) unknown(name string) error {
	if from := s.copies[name]; from != "" {
		return fmt.Errorf("%[1]s is installed in namespace %[2]s, and works in namespace %[3]s: use -n %[2]s", name, from, s.Namespace)
	}
	var known []string
	for i := range s.Subscriptions {
		known = append(known, s.Subscriptions[i].Name)
	}
	text := fmt.Sprintf("namespace %s has no Subscription, ClusterServiceVersion or InstallPlan %s", s.Namespace, name)
	if len(s.Lacks) > 0 {
		text += fmt.Sprintf(" that you may see (%s)", strings.Join(s.Lacks, "; "))
	} else {
		text += ", and the cluster has no ClusterExtension with this name"
	}
	if len(known) > 0 {
		return fmt.Errorf("%s; the namespace has the Subscriptions %s", text, strings.Join(known, ", "))
	}
	return fmt.Errorf("%s: `operon olm status -A` lists all", text)
}

// explanation follows the objects from a Subscription to what decides.
type explanation struct {
	*Answer

	state *State
}

func (e *explanation) link(kind, name, state string) {
	e.Chain = append(e.Chain, Link{kind, name, cmp.Or(state, "no state")})
}

// decide ends an explanation.
func (e *explanation) decide(why string, by Field, do ...string) {
	e.Why, e.Do = terminal.Line(why), do
	e.Decides = &by
}

func (e *explanation) settle(why string) { e.Why, e.Settled = terminal.Line(why), true }

func (e *explanation) at(kind, name, field string) Field {
	return Field{kind, e.state.Namespace, name, field}
}

// unobserved decides if the manager has not reported on an object.
func (e *explanation) unobserved(kind, name string, observed, generation int64, reported bool) bool {
	if reported && (observed == 0 || observed >= generation) {
		return false
	}
	e.decide(fmt.Sprintf("no lifecycle manager has reported on generation %d of %s %s", generation, kind, name), e.at(kind, name, "status.manager.observedGeneration"),
		"check that the manager runs: operon olm up, or kubectl get deployments -A -l app.kubernetes.io/name=olm")
	return true
}

func (e *explanation) subscription(of *Subscription) {
	e.link(kindSubscription, of.Name, of.Status.State)
	if of.DeletionTimestamp != nil {
		e.decide("it is being deleted", e.at(kindSubscription, of.Name, "metadata.finalizers"))
		return
	}
	reported := of.Status.State != "" || len(of.Status.Conditions) > 0 || of.Status.Manager.ObservedGeneration > 0
	if e.unobserved(kindSubscription, of.Name, of.Status.Manager.ObservedGeneration, of.Generation, reported) || e.catalog(of) || e.resolution(of) {
		return
	}
	if plan := e.state.planOf(of); plan != nil && plan.Status.Phase != PlanComplete {
		e.plan(plan)
		return
	}
	name := cmp.Or(of.Status.CurrentCSV, of.Status.InstalledCSV)
	if version := e.state.version(of.Namespace, name); version != nil && version.Status.Phase != PhaseSucceeded {
		e.version(version)
		return
	}
	if ready := of.Status.Manager.ready(); ready.Status == "False" {
		e.decide(ready.Message, e.at(kindSubscription, of.Name, "status.manager.conditions[Ready]"))
		return
	}
	if name == "" {
		e.decide("no version is chosen yet", e.at(kindSubscription, of.Name, "status.currentCSV"))
		return
	}
	if e.state.version(of.Namespace, name) == nil && !e.hidden(Versions.Resource) {
		e.decide(fmt.Sprintf("the ClusterServiceVersion %s does not exist", name), e.at(kindSubscription, of.Name, "status.currentCSV"))
		return
	}
	e.settle(fmt.Sprintf("%s is installed, and channel %s of package %s has nothing newer for it", name, cmp.Or(of.Spec.Channel, "(default)"), of.Spec.Name))
}

// catalog decides if the catalog cannot be used.
func (e *explanation) catalog(of *Subscription) bool {
	namespace, name := of.catalog()
	found := e.state.catalog(namespace, name)
	switch {
	case found == nil && namespace != of.Namespace && namespace != GlobalNamespace:
		e.decide(fmt.Sprintf("catalogs of namespace %s cannot be used in namespace %s", namespace, of.Namespace), e.at(kindSubscription, of.Name, "spec.sourceNamespace"),
			fmt.Sprintf("create the CatalogSource %s in namespace %s or in namespace %s", name, of.Namespace, GlobalNamespace))
		return true
	case found == nil && e.hidden(Catalogs.Resource):
		return false
	case found == nil:
		e.link(kindCatalog, address(namespace, name), "does not exist")
		e.decide(fmt.Sprintf("the CatalogSource %s does not exist", address(namespace, name)), e.at(kindSubscription, of.Name, "spec.source"),
			"create it, or correct spec.source and spec.sourceNamespace of the Subscription")
		return true
	}
	e.link(kindCatalog, address(namespace, name), found.state())
	state := found.state()
	if state == catalogReady || state != "" && !of.is(conditionUnhealthy) { // what was read of it before stays in use
		return false
	}
	what, field := found.place()
	why := fmt.Sprintf("the catalog %s cannot be read: %s", address(namespace, name), found.Status.Message)
	do := []string{fmt.Sprintf("make the %s available, or correct %s; it is read again every few seconds", what, field)}
	if state == "" {
		field, do = "status.connectionState", nil
	}
	if found.Status.Message == "" {
		why = fmt.Sprintf("the catalog %s was not read yet", address(namespace, name))
	}
	e.decide(why, Field{kindCatalog, namespace, name, field}, do...)
	return true
}

// hidden reports whether the caller may not read a resource.
func (e *explanation) hidden(resource string) bool {
	return slices.ContainsFunc(e.Unknown, func(one string) bool { return strings.Contains(one, resource) })
}

// remedies are what to do about the reasons of a failed resolution, and the fields of the Subscription that they are about.
var remedies = map[string]struct{ field, do string }{
	"PackageNotFound":             {"spec.name", "correct the name of the package"},
	"ChannelNotFound":             {"spec.channel", "choose a channel of the package"},
	"BundleNotFound":              {"spec.startingCSV", "choose a version of the channel, or remove the field"},
	"InvalidChannel":              {"spec.channel", "correct the channel in the catalog: operon catalog validate"},
	"UnusableBundles":             {"spec.channel", "correct the bundles in the catalog, or choose another channel"},
	"Unsatisfiable":               {"spec.name", "offer what is missing in a catalog of the namespace, or choose another channel"},
	"RolledBack":                  {"status.rolledBack", "solve the problem, then remove the annotation olm.operon.dev/rollback to try again"},
	"DuplicateSubscription":       {"spec.name", "delete one of the Subscriptions"},
	"InstalledByOther":            {"spec.name", "delete the version that was installed without a Subscription, or choose a channel that has it"},
	"NamespaceOfClusterExtension": {"metadata.namespace", "delete the Subscription, and subscribe in another namespace"},
}

// resolution decides if no version could be chosen.
func (e *explanation) resolution(of *Subscription) bool {
	condition := meta.FindStatusCondition(of.Status.Conditions, conditionResolution)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return false
	}
	remedy := remedies[condition.Reason]
	var do []string
	if remedy.do != "" {
		do = []string{remedy.do}
	}
	if plan := e.state.planOf(of); plan != nil && plan.Status.Phase == PlanRequiresApproval && of.is(conditionPending) {
		e.link(kindPlan, plan.Name, plan.Status.Phase)
		do = append(do, fmt.Sprintf("operon olm approve %s -n %s       # it waits for approval, too", plan.Name, plan.Namespace))
	}
	e.decide(condition.Message, e.at(kindSubscription, of.Name, cmp.Or(remedy.field, "status.conditions[ResolutionFailed]")), do...)
	return true
}

func (e *explanation) plan(of *InstallPlan) {
	e.link(kindPlan, of.Name, of.Status.Phase)
	if e.unobserved(kindPlan, of.Name, of.Status.Manager.ObservedGeneration, of.Generation, of.Status.Phase != "") {
		return
	}
	ready := of.Status.Manager.ready()
	message := cmp.Or(of.Status.Message, ready.Message, "no reason is given")
	names := strings.Join(of.Spec.ClusterServiceVersionNames, ", ")
	switch of.Status.Phase {
	case PlanComplete:
		e.versions(of, fmt.Sprintf("the plan is complete: %s is installed", names))
	case PlanRequiresApproval:
		e.decide(fmt.Sprintf("InstallPlan %s for %s waits for approval", of.Name, names), e.at(kindPlan, of.Name, "spec.approved"),
			fmt.Sprintf("operon olm plan %s -n %s       # what it would change", of.Name, of.Namespace),
			fmt.Sprintf("operon olm approve %s -n %s", of.Name, of.Namespace))
	case PlanFailed:
		e.decide(fmt.Sprintf("InstallPlan %s cannot be carried out: %s", of.Name, message), e.at(kindPlan, of.Name, "status.message"), failures[ready.Reason]...)
	case "Planning":
		e.decide(fmt.Sprintf("the bundle of %s cannot be read: %s", names, message), e.at(kindPlan, of.Name, "status.message"),
			"make the image of the bundle available; it is read again every few seconds")
	default:
		e.versions(of, "")
		if e.Decides == nil {
			e.decide(fmt.Sprintf("InstallPlan %s writes the objects of %s: %s", of.Name, names, message), e.at(kindPlan, of.Name, "status.phase"))
		}
	}
}

// failures are what to do about plans that fail, by their reason.
var failures = map[string][]string{
	"UnsafeCustomResourceDefinition": {"change the objects that the message names, so that they fit both schemas; the plan is tried again"},
	"BundleChanged":                  {"delete the plan, so that the manager makes another one from the bundle as it is now"},
	"GroupServiceAccountForbidden":   {"grant the ServiceAccount of the OperatorGroup what the message names, or create it, or remove spec.serviceAccountName from the group"},
	"NamespaceOfClusterExtension":    {"delete the Subscription, and subscribe in another namespace"},
	"ForeignObject":                  {"remove or rename the object that the message names; the plan is tried again"},
}

// versions explains the first version of a plan that does not work.
func (e *explanation) versions(of *InstallPlan, otherwise string) {
	for _, name := range of.Spec.ClusterServiceVersionNames {
		if version := e.state.version(of.Namespace, name); version != nil && version.Status.Phase != PhaseSucceeded {
			e.version(version)
			return
		}
	}
	if otherwise != "" {
		e.settle(otherwise)
	}
}

// Text writes the answer as text for users.
func (a *Answer) Text(out io.Writer) error {
	var page terminal.Page
	subject := fmt.Sprintf("%s %s", a.Kind, address(a.Namespace, a.Name))
	if a.Settled {
		page.Lines(subject + " is settled: " + a.Why)
	} else {
		page.Lines(subject+" does not move", "  "+a.Why)
	}
	if by := a.Decides; by != nil {
		page.Section("Decides", lines([]string{fmt.Sprintf("%s %s: %s", by.Kind, address(by.Namespace, by.Name), by.Field)}))
	}
	page.Section("Do", a.Do)
	var chain []string
	for _, one := range a.Chain {
		chain = append(chain, fmt.Sprintf("%s %s: %s", one.Kind, one.Name, one.State))
	}
	page.Section("Chain", lines(chain))
	page.Section("Unknown", a.Unknown)
	_, err := io.WriteString(out, terminal.Clean(page.String())) // much of it comes from the cluster
	return err
}
