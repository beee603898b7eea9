package rbac

import (
	"cmp"
	"fmt"
	"strings"
)

// markerName is the beginning of a comment that requests permissions.
const markerName = "+kubebuilder:rbac:"

// Marker returns the comment with which Go code requests verbs on the target of a permission.
func Marker(of Permission, verbs ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%sgroups=%s", markerName, cmp.Or(of.Group, `""`))
	if of.Namespace != "" {
		fmt.Fprintf(&text, ",namespace=%s", of.Namespace)
	}
	fmt.Fprintf(&text, ",resources=%s", of.Resource)
	if of.Name != "" {
		fmt.Fprintf(&text, ",resourceNames=%s", of.Name)
	}
	fmt.Fprintf(&text, ",verbs=%s", strings.Join(verbs, ";"))
	return text.String()
}
