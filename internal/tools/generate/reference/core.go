package reference

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubernetes is the URL of the reference of Kubernetes' own types, for the name of a type in lower case, its version and the
// last part of its group.
const kubernetes = "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/#%s-%s-%s"

// embedded lists the Kubernetes types that APIs embed; the types that they consist of are included, too. A definition has
// only their fields, so that they are recognized by these.
var embedded = []reflect.Type{
	reflect.TypeFor[metav1.Condition](), reflect.TypeFor[metav1.LabelSelector](),
	reflect.TypeFor[corev1.PodTemplateSpec](), reflect.TypeFor[corev1.PersistentVolumeClaim](), reflect.TypeFor[corev1.ServiceSpec](),
	reflect.TypeFor[corev1.EnvFromSource](), reflect.TypeFor[corev1.ObjectReference](), reflect.TypeFor[corev1.TopologySelectorTerm](),
	reflect.TypeFor[appsv1.DeploymentSpec](), reflect.TypeFor[appsv1.StatefulSetSpec](), reflect.TypeFor[appsv1.DaemonSetSpec](),
}

// A type with many fields is recognized by most of them, because each version of Kubernetes adds some. A type with fewer
// fields is recognized by all of them. A type with even fewer is not recognized, unless its name is in telling.
const (
	manyFields = 8
	fewFields  = 5
)

var telling = map[string]bool{"LabelSelector": true, "ResourceRequirements": true, "EnvVar": true, "EnvFromSource": true, "Affinity": true}

// coreStruct is a Kubernetes type.
type coreStruct struct {
	link   string
	fields map[string]bool
}

// coreTypes returns all types that are recognized by their fields.
var coreTypes = sync.OnceValue(func() []coreStruct {
	var all []coreStruct
	seen := map[reflect.Type]bool{}
	for _, one := range embedded {
		all = collect(one, seen, all)
	}
	return all
})

func collect(t reflect.Type, seen map[reflect.Type]bool, all []coreStruct) []coreStruct {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] || !strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		return all
	}
	seen[t] = true
	names := map[string]bool{}
	for i := range t.NumField() {
		all = collect(t.Field(i).Type, seen, all)
		jsonNames(t.Field(i), names)
	}
	if len(names) < fewFields && !telling[t.Name()] {
		return all
	}
	return append(all, coreStruct{link: linkTo(t), fields: names})
}

// jsonNames adds the JSON names of a field. An embedded struct has several.
func jsonNames(field reflect.StructField, names map[string]bool) {
	tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if tag == "" && field.Anonymous && field.Type.Kind() == reflect.Struct {
		for i := range field.Type.NumField() {
			jsonNames(field.Type.Field(i), names)
		}
		return
	}
	if tag != "" && tag != "-" {
		names[tag] = true
	}
}

func linkTo(t reflect.Type) string {
	elements := strings.Split(t.PkgPath(), "/")
	group, version := elements[len(elements)-2], elements[len(elements)-1]
	return fmt.Sprintf("[%s]("+kubernetes+")", t.Name(), strings.ToLower(t.Name()), version, group)
}

// coreType returns a link to the Kubernetes type with this schema, or "" for any other schema.
func coreType(s *apiextensionsv1.JSONSchemaProps) string {
	if len(s.Properties) < 2 {
		return ""
	}
	best := coreStruct{}
	for _, candidate := range coreTypes() {
		if candidate.matches(s) && (best.link == "" || len(candidate.fields) < len(best.fields)) {
			best = candidate
		}
	}
	return best.link
}

// matches reports whether the schema has only fields of the type, and most of them.
func (c coreStruct) matches(s *apiextensionsv1.JSONSchemaProps) bool {
	least := len(c.fields)
	if least >= manyFields {
		least = (least*3 + 3) / 4
	}
	if len(s.Properties) < least {
		return false
	}
	for name := range s.Properties {
		if !c.fields[name] {
			return false
		}
	}
	return true
}

// coreList reports whether a schema is a list of a Kubernetes type. The rules of such a list are documented there.
func coreList(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.Items != nil && s.Items.Schema != nil && coreType(s.Items.Schema) != ""
}
