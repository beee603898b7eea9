package bundle

import (
	"encoding/json"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

// CSV is a ClusterServiceVersion of operators.coreos.com/v1alpha1: the description of one version of an operator. It has the
// fields that have a meaning to tools. Others are retained in the object that it was decoded from.
type CSV struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              CSVSpec `json:"spec"`
}

// CSVSpec is the spec of a CSV.
type CSVSpec struct {
	Version        string `json:"version"`
	Replaces       string `json:"replaces"`
	MinKubeVersion string `json:"minKubeVersion"`
	DisplayName    string `json:"displayName"`
	Description    string `json:"description"`
	Provider       struct {
		Name string `json:"name"`
	} `json:"provider"`
	Maintainers []struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	} `json:"maintainers"`
	Links []struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	} `json:"links"`
	Icon []struct {
		Data      string `json:"base64data"`
		MediaType string `json:"mediatype"`
	} `json:"icon"`
	Skips        []string `json:"skips"`
	InstallModes []struct {
		Type      InstallMode `json:"type"`
		Supported bool        `json:"supported"`
	} `json:"installModes"`
	Install       Install        `json:"install"`
	CRDs          APIs           `json:"customresourcedefinitions"`
	APIServices   APIs           `json:"apiservicedefinitions"`
	Webhooks      []Webhook      `json:"webhookdefinitions"`
	NativeAPIs    []API          `json:"nativeAPIs"`
	RelatedImages []RelatedImage `json:"relatedImages"`
}

// InstallMode states which namespaces an operator can watch.
type InstallMode string

// The install modes.
const (
	OwnNamespace    InstallMode = "OwnNamespace"
	SingleNamespace InstallMode = "SingleNamespace"
	MultiNamespace  InstallMode = "MultiNamespace"
	AllNamespaces   InstallMode = "AllNamespaces"
)

// Supports reports whether an operator can be installed in a mode. A mode that is not listed is not supported.
func (s *CSVSpec) Supports(mode InstallMode) bool {
	for _, one := range s.InstallModes {
		if one.Type == mode && one.Supported {
			return true
		}
	}
	return false
}

// Install describes the workloads of an operator and their permissions.
type Install struct {
	Strategy string `json:"strategy"`
	Spec     struct {
		Deployments        []Deployment  `json:"deployments"`
		Permissions        []Permissions `json:"permissions"`
		ClusterPermissions []Permissions `json:"clusterPermissions"`
	} `json:"spec"`
}

// Deployment becomes a Deployment in the namespace of the CSV.
type Deployment struct {
	Name string                `json:"name"`
	Spec appsv1.DeploymentSpec `json:"spec"`
}

// Permissions are the permissions of one ServiceAccount.
type Permissions struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules"`
}

// APIs are the APIs that an operator provides and needs.
type APIs struct {
	Owned    []API `json:"owned"`
	Required []API `json:"required"`
}

// API is one version of a kind: of a CustomResourceDefinition with this name, or of an aggregated API server.
type API struct {
	Name           string `json:"name"`
	Group          string `json:"group"`
	Version        string `json:"version"`
	Kind           string `json:"kind"`
	Description    string `json:"description"`
	DeploymentName string `json:"deploymentName"`
}

// WebhookType is the type of a webhook.
type WebhookType string

// The types of webhooks.
const (
	Validating WebhookType = "ValidatingAdmissionWebhook"
	Mutating   WebhookType = "MutatingAdmissionWebhook"
	Converting WebhookType = "ConversionWebhook"
)

// Webhook is a webhook that an operator serves.
type Webhook struct {
	Type                    WebhookType                                  `json:"type"`
	GenerateName            string                                       `json:"generateName"`
	DeploymentName          string                                       `json:"deploymentName"`
	ContainerPort           int32                                        `json:"containerPort"`
	TargetPort              *intstr.IntOrString                          `json:"targetPort"`
	Rules                   []admissionregistrationv1.RuleWithOperations `json:"rules"`
	SideEffects             *admissionregistrationv1.SideEffectClass     `json:"sideEffects"`
	AdmissionReviewVersions []string                                     `json:"admissionReviewVersions"`
	ConversionCRDs          []string                                     `json:"conversionCRDs"`
}

// RelatedImage is an image that the operator uses, for registries without network access.
type RelatedImage struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// The group, version and kind of a CSV.
const (
	csvAPIVersion = "operators.coreos.com/v1alpha1"
	csvKind       = "ClusterServiceVersion"
)

// skipRange is the annotation with a range of versions that a CSV replaces.
const skipRange = "olm.skipRange"

// samplesAnnotation is the annotation with sample objects, as a JSON list.
const samplesAnnotation = "alm-examples"

// decode decodes the fields of an object into a struct. It returns one problem for each field with another type, and for each
// field that a struct of Kubernetes does not have. strict are the paths below which unknown fields are problems.
func decode(object project.Object, into any, strict func(path string) bool) []Problem {
	data, err := json.Marshal(object.Object)
	if err != nil {
		return []Problem{{rule.At(object, ""), err.Error()}}
	}
	unknown, err := kjson.UnmarshalStrict(data, into)
	var problems []Problem
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return []Problem{{rule.At(object, wrong.Field), fmt.Sprintf("%s: want %s, got %s", wrong.Field, typeName(wrong), wrong.Value)}}
	}
	if err != nil {
		return []Problem{{rule.At(object, ""), err.Error()}}
	}
	for _, one := range unknown {
		var field kjson.FieldError
		if errors.As(one, &field) && strict(field.FieldPath()) {
			problems = append(problems, Problem{rule.At(object, field.FieldPath()), "unknown field " + field.FieldPath()})
		}
	}
	return problems
}

// typeName returns the name of the wanted type in YAML.
func typeName(err *json.UnmarshalTypeError) string {
	names := map[string]string{"slice": "a list", "struct": "a mapping", "map": "a mapping", "string": "a string", "bool": "true or false"}
	if name, ok := names[err.Type.Kind().String()]; ok {
		return name
	}
	return "a number"
}
