package olm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/olm/contents"
)

// Bill is what a lifecycle manager has installed. Its JSON is stable.
type Bill struct {
	Operators []Operator     `json:"operators"`
	Catalogs  []CatalogState `json:"catalogs"`
	Groups    []GroupState   `json:"groups"`
	// Unknown names what could not be read.
	Unknown []string `json:"unknown,omitempty"`
}

// Operator is a version that is installed, or a Subscription or a ClusterExtension that has not installed one yet.
type Operator struct {
	Namespace string `json:"namespace"`
	// CSV is the name of the version. It is empty if nothing is installed.
	CSV          string `json:"csv,omitempty"`
	Version      string `json:"version,omitempty"`
	Package      string `json:"package,omitempty"`
	Channel      string `json:"channel,omitempty"`
	Catalog      string `json:"catalog,omitempty"`
	Subscription string `json:"subscription,omitempty"`
	// Extension is the ClusterExtension that installed it.
	Extension string `json:"extension,omitempty"`
	Approval  string `json:"approval,omitempty"`
	// Phase is that of the version, with its Reason and Message if it is not Succeeded.
	Phase   string   `json:"phase,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Message string   `json:"message,omitempty"`
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Problems are conditions of the Subscription or the ClusterExtension that say why it does not move.
	Problems []string `json:"problems,omitempty"`
	// Namespaces are those that the operator works in. One empty name stands for all.
	Namespaces   []string `json:"namespaces,omitempty"`
	Provides     []string `json:"provides,omitempty"`
	Permissions  []Right  `json:"permissions,omitempty"`
	Images       []string `json:"images,omitempty"`
	Deprecations []string `json:"deprecations,omitempty"`
	// Elsewhere means that the operator is installed in another namespace than the one that was asked for, and works in that one. Only
	// its name, version, package and phase are known.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// Upgrade is a version that was chosen and is not installed yet.
type Upgrade struct {
	CSV  string `json:"csv"`
	Plan string `json:"plan,omitempty"`
	// Phase is that of the plan. RequiresApproval: it waits for approval.
	Phase string `json:"phase,omitempty"`
}

// CatalogState is whether a catalog can be read.
type CatalogState struct {
	// Kind is CatalogSource, or ClusterCatalog, which has no namespace.
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Image     string   `json:"image,omitempty"`
	Digest    string   `json:"digest,omitempty"`
	State     string   `json:"state"`
	Message   string   `json:"message,omitempty"`
	Packages  int      `json:"packages"`
	Broken    []string `json:"broken,omitempty"`
}

// GroupState is the namespaces that an OperatorGroup selects. One empty name stands for all.
type GroupState struct {
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	Namespaces []string `json:"namespaces"`
	Problems   []string `json:"problems,omitempty"`
}

// Bill returns what is installed, in the order of namespaces and names.
func (s *State) Bill() *Bill {
	bill := &Bill{Operators: []Operator{}, Catalogs: []CatalogState{}, Groups: []GroupState{}, Unknown: s.Lacks}
	for i := range s.Versions {
		bill.Operators = append(bill.Operators, s.operator(&s.Versions[i]))
	}
	for i := range s.Subscriptions {
		one := &s.Subscriptions[i]
		if s.version(one.Namespace, one.Status.InstalledCSV) == nil && s.version(one.Namespace, one.Status.CurrentCSV) == nil {
			waiting := Operator{Namespace: one.Namespace}
			s.subscribed(&waiting, one)
			bill.Operators = append(bill.Operators, waiting)
		}
	}
	for i := range s.Extensions {
		if one := &s.Extensions[i]; s.versionOf(one) == nil {
			bill.Operators = append(bill.Operators, withoutCSV(one))
		}
	}
	bill.Operators = append(bill.Operators, s.elsewhere()...)
	slices.SortFunc(bill.Operators, func(a, b Operator) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Package, b.Package), strings.Compare(a.CSV, b.CSV))
	})
	for i := range s.Catalogs {
		bill.Catalogs = append(bill.Catalogs, catalogState(&s.Catalogs[i]))
	}
	for i := range s.ClusterCatalogs {
		bill.Catalogs = append(bill.Catalogs, clusterCatalogState(&s.ClusterCatalogs[i]))
	}
	for i := range s.Groups {
		one := &s.Groups[i]
		state := GroupState{Namespace: one.Namespace, Name: one.Name, Namespaces: slices.Concat([]string{}, one.Status.Namespaces)}
		for _, condition := range one.Status.Conditions {
			state.Problems = append(state.Problems, strings.TrimSuffix(condition.Type+": "+condition.Message, ": "))
		}
		bill.Groups = append(bill.Groups, state)
	}
	return bill
}

func catalogState(one *Catalog) CatalogState {
	return CatalogState{
		Kind: kindCatalog, Namespace: one.Namespace, Name: one.Name, Image: cmp.Or(one.Spec.Image, one.Spec.Address), Digest: one.Status.Digest,
		State: cmp.Or(one.state(), "unknown"), Message: one.Status.Message, Packages: one.Status.Packages, Broken: one.Status.Broken,
	}
}

// operator returns what is known about a version.
func (s *State) operator(of *Version) Operator {
	group := s.group(of.Namespace)
	found := Operator{
		Namespace: of.Namespace, CSV: of.Name, Version: of.Spec.Version, Phase: cmp.Or(of.Status.Phase, "unknown"), Package: contents.PackageIn(of.Annotations[contents.AnnotationProperties]),
		Permissions: of.Rights(group != nil && group.all()), Images: of.Images(),
	}
	if of.Status.Phase != PhaseSucceeded {
		found.Reason, found.Message = of.Status.Reason, of.Status.Message
	}
	if group != nil {
		found.Namespaces = group.Status.Namespaces
	}
	for _, api := range of.Spec.Definitions.Owned {
		found.Provides = append(found.Provides, api.Name+"/"+api.Version)
	}
	if subscription := s.SubscriptionOf(of); subscription != nil {
		s.subscribed(&found, subscription)
	}
	if extension := s.extensionOf(of); extension != nil {
		found.extended(extension)
	}
	return found
}

// subscribed adds what the Subscription of an operator says.
func (s *State) subscribed(to *Operator, by *Subscription) {
	namespace, name := by.catalog()
	to.Package, to.Channel, to.Catalog = by.Spec.Name, by.Spec.Channel, address(namespace, name)
	to.Subscription, to.Approval = by.Name, cmp.Or(by.Spec.InstallPlanApproval, "Automatic")
	for _, condition := range by.Status.Conditions {
		switch condition.Type {
		case conditionDeprecated:
			to.Deprecations = append(to.Deprecations, condition.Message)
		case conditionPending, "PackageDeprecated", "ChannelDeprecated", "BundleDeprecated": // they repeat others
		default:
			to.Problems = append(to.Problems, condition.Type+": "+condition.Reason+": "+condition.Message)
		}
	}
	if next := by.Status.CurrentCSV; next != "" && next != by.Status.InstalledCSV && next != to.CSV {
		to.Upgrade = &Upgrade{CSV: next}
		if plan := s.planOf(by); plan != nil {
			to.Upgrade.Plan, to.Upgrade.Phase = plan.Name, plan.Status.Phase
		}
	}
}

// SubscriptionOf returns the Subscription that installed a version, or nil.
func (s *State) SubscriptionOf(of *Version) *Subscription {
	for i := range s.Subscriptions {
		one := &s.Subscriptions[i]
		if one.Namespace == of.Namespace && (one.Status.InstalledCSV == of.Name || one.Status.CurrentCSV == of.Name) {
			return one
		}
	}
	return nil
}

// planOf returns the plan of a Subscription, or nil.
func (s *State) planOf(of *Subscription) *InstallPlan {
	if of.Status.InstallPlanRef == nil {
		return nil
	}
	return s.Plan(of.Namespace, of.Status.InstallPlanRef.Name)
}

// Plan returns an InstallPlan, or nil.
func (s *State) Plan(namespace, name string) *InstallPlan {
	return find(s.Plans, namespace, name, func(p *InstallPlan) (string, string) { return p.Namespace, p.Name })
}

// Subscription returns a Subscription, or nil.
func (s *State) Subscription(namespace, name string) *Subscription {
	return find(s.Subscriptions, namespace, name, func(p *Subscription) (string, string) { return p.Namespace, p.Name })
}

func (s *State) version(namespace, name string) *Version {
	return find(s.Versions, namespace, name, func(p *Version) (string, string) { return p.Namespace, p.Name })
}

func (s *State) catalog(namespace, name string) *Catalog {
	return find(s.Catalogs, namespace, name, func(p *Catalog) (string, string) { return p.Namespace, p.Name })
}

func find[T any](all []T, namespace, name string, keyOf func(*T) (string, string)) *T {
	for i := range all {
		if a, b := keyOf(&all[i]); a == namespace && b == name {
			return &all[i]
		}
	}
	return nil
}

// group returns the OperatorGroup of a namespace, or nil if it does not have exactly one.
func (s *State) group(namespace string) *Group {
	var found *Group
	for i := range s.Groups {
		if s.Groups[i].Namespace != namespace {
			continue
		}
		if found != nil {
			return nil
		}
		found = &s.Groups[i]
	}
	return found
}

// property is a fact about a version in its catalog.
type property struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// properties returns the properties of a version. They are missing if it was not installed from a catalog.
func (v *Version) properties() []property {
	var written struct {
		Properties []property `json:"properties"`
	}
	if json.Unmarshal([]byte(v.Annotations[contents.AnnotationProperties]), &written) != nil {
		return nil
	}
	return written.Properties
}
