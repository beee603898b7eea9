package property

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Bundle is a version of an operator.
type Bundle struct {
	Name string
	// Version is a semantic version. If it is empty, the property olm.package has the version.
	Version    string
	Properties []Property
}

// Property is a fact about a bundle. Properties with the types of the Operator Lifecycle Manager are interpreted: what the bundle provides
// (olm.gvk, olm.label), what it requires (olm.gvk.required, olm.package.required, olm.label.required, olm.constraint), its version
// (olm.package), and that it must not be chosen (olm.deprecated).
type Property struct {
	Type  string
	Value json.RawMessage
}

// Query selects packages. The zero Query selects all packages.
type Query struct {
	// Provides selects packages with a bundle that has a property olm.gvk with this kind.
	Provides schema.GroupVersionKind
	// Property selects packages with a bundle that has a property of this type. At most one of the fields is set.
	Property string
}

// Provides reports whether a bundle has a property olm.gvk with a kind.
func Provides(b Bundle, kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(b.Properties, func(p Property) bool {
		var value kindValue
		return p.Type == kindProperty && decode(p.Value, &value) == nil && schema.GroupVersionKind(value) == kind
	})
}
