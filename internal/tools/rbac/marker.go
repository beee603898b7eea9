package rbac

import (
	"cmp"
	"fmt"
	"strings"
)

// markerName begins a comment that asks for permissions.
const markerName = "+kubebuilder:rbac:"

// Marker is the comment by which Go code asks for verbs on what a permission is about.
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
