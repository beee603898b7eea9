package olm

import (
	"cmp"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Subscription keeps an operator installed.
type Subscription struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Source              string `json:"source"`
		SourceNamespace     string `json:"sourceNamespace"`
		Name                string `json:"name"`
		Channel             string `json:"channel"`
		StartingCSV         string `json:"startingCSV"`
		InstallPlanApproval string `json:"installPlanApproval"`
	} `json:"spec"`
	Status struct {
		InstalledCSV   string             `json:"installedCSV"`
		CurrentCSV     string             `json:"currentCSV"`
		State          string             `json:"state"`
		InstallPlanRef *Reference         `json:"installPlanRef"`
		Conditions     []metav1.Condition `json:"conditions"`
		Manager        Report             `json:"manager"`
	} `json:"status"`
}

// catalog returns the namespace and the name of the catalog.
func (s *Subscription) catalog() (namespace, name string) {
	if s.Spec.SourceNamespace == "" {
		return s.Namespace, s.Spec.Source
	}
	return s.Spec.SourceNamespace, s.Spec.Source
}

// is reports whether a condition is true.
func (s *Subscription) is(kind string) bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, kind)
}

// Reference names an object.
type Reference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Report is what Operon's manager reports about its work on an object.
type Report struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Conditions         []metav1.Condition `json:"conditions"`
}

// ready returns the condition Ready, or an empty one.
func (r *Report) ready() *metav1.Condition {
	return cmp.Or(meta.FindStatusCondition(r.Conditions, "Ready"), &metav1.Condition{})
}

// Phases of an InstallPlan.
const (
	PlanRequiresApproval = "RequiresApproval"
	PlanComplete         = "Complete"
	PlanFailed           = "Failed"
)

// InstallPlan is a set of versions to install, with their objects.
type InstallPlan struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ClusterServiceVersionNames []string `json:"clusterServiceVersionNames"`
		Approval                   string   `json:"approval"`
		Approved                   bool     `json:"approved"`
	} `json:"spec"`
	Status struct {
		Phase         string   `json:"phase"`
		Message       string   `json:"message"`
		Plan          []Step   `json:"plan"`
		BundleLookups []Lookup `json:"bundleLookups"`
		Manager       Report   `json:"manager"`

		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// Lookup is the bundle of a version.
type Lookup struct {
	Path       string `json:"path"`
	Digest     string `json:"digest"`
	Identifier string `json:"identifier"`
	Replaces   string `json:"replaces"`
}

// Step is an object of a plan.
type Step struct {
	Resolving string `json:"resolving"`
	Status    string `json:"status"`
	Resource  struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
		Name    string `json:"name"`
		// Manifest is the object as JSON, and Compressed the same, compressed by gzip. Both may be missing.
		Manifest   string `json:"manifest"`
		Compressed []byte `json:"compressedManifest"`
	} `json:"resource"`
}

// Phases of a Version.
const (
	PhasePending   = "Pending"
	PhaseSucceeded = "Succeeded"
	PhaseFailed    = "Failed"
	PhaseReplacing = "Replacing"
	PhaseDeleting  = "Deleting"
)

// Version is a ClusterServiceVersion: one version of an operator.
type Version struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		DisplayName  string   `json:"displayName"`
		Version      string   `json:"version"`
		Replaces     string   `json:"replaces"`
		Definitions  APIs     `json:"customresourcedefinitions"`
		RelatedImage []Image  `json:"relatedImages"`
		Install      Strategy `json:"install"`
		Webhooks     []struct {
			ConversionCRDs []string `json:"conversionCRDs"`
		} `json:"webhookdefinitions"`
	} `json:"spec"`
	Status struct {
		Phase             string        `json:"phase"`
		Reason            string        `json:"reason"`
		Message           string        `json:"message"`
		RequirementStatus []Requirement `json:"requirementStatus"`
		PermissionsDigest string        `json:"permissionsDigest"`
		Manager           Report        `json:"manager"`
	} `json:"status"`
}

// APIs are the kinds that an operator provides and needs.
type APIs struct {
	Owned    []API `json:"owned"`
	Required []API `json:"required"`
}

// API is a kind. Name is the name of its CustomResourceDefinition.
type API struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Image is an image with the name that the author gave it.
type Image struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// Strategy is how an operator is run.
type Strategy struct {
	Spec struct {
		Deployments        []Deployment  `json:"deployments"`
		Permissions        []Permissions `json:"permissions"`
		ClusterPermissions []Permissions `json:"clusterPermissions"`
	} `json:"spec"`
}

// Deployment is a Deployment of an operator.
type Deployment struct {
	Name string         `json:"name"`
	Spec map[string]any `json:"spec"`
}

// Permissions are what a ServiceAccount may do.
type Permissions struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules"`
}

// Requirement is an object that an operator needs.
type Requirement struct {
	Group      string `json:"group"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	Message    string `json:"message"`
	Dependents []struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"dependents"`
}

// Catalog is a CatalogSource.
type Catalog struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Image     string `json:"image"`
		Address   string `json:"address"`
		ConfigMap string `json:"configMap"`
	} `json:"spec"`
	Status struct {
		Message         string `json:"message"`
		Reason          string `json:"reason"`
		ConnectionState *struct {
			LastObservedState string `json:"lastObservedState"`
		} `json:"connectionState"`
		Digest   string   `json:"digest"`
		Packages int      `json:"packages"`
		Broken   []string `json:"broken"`
		Manager  Report   `json:"manager"`
	} `json:"status"`
}

// place returns what has the catalog, and the field that names it.
func (c *Catalog) place() (what, field string) {
	switch {
	case c.Spec.Image == "" && c.Spec.Address != "":
		return "server", "spec.address"
	case c.Spec.Image == "" && c.Spec.ConfigMap != "":
		return "ConfigMap", "spec.configMap"
	}
	return "image", "spec.image"
}

// state returns the state of the connection.
func (c *Catalog) state() string {
	if c.Status.ConnectionState == nil {
		return ""
	}
	return c.Status.ConnectionState.LastObservedState
}

// catalogReady is the state of a catalog that can be read.
const catalogReady = "READY"

// Group is an OperatorGroup.
type Group struct {
	metav1.ObjectMeta `json:"metadata"`

	Status struct {
		Namespaces []string           `json:"namespaces"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// all reports whether a group selects all namespaces.
func (g *Group) all() bool { return len(g.Status.Namespaces) == 1 && g.Status.Namespaces[0] == "" }
