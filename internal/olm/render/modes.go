package render

import (
	"fmt"
	"slices"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
)

// Supports returns why an operator cannot work in the namespaces of its group. The namespace of the operator together with others needs two
// modes.
func Supports(modes []v1alpha1.InstallMode, in Group) phase.Problem {
	supported := map[v1alpha1.InstallModeType]bool{}
	for _, mode := range modes {
		switch mode.Type {
		case v1alpha1.OwnNamespace, v1alpha1.SingleNamespace, v1alpha1.MultiNamespace, v1alpha1.AllNamespaces:
		default:
			return phase.Problem{Reason: phase.ReasonInvalidInstallModes, Message: fmt.Sprintf("spec.installModes: %q is not an install mode: use OwnNamespace, SingleNamespace, MultiNamespace and AllNamespaces", mode.Type)}
		}
		if _, twice := supported[mode.Type]; twice {
			return phase.Problem{Reason: phase.ReasonInvalidInstallModes, Message: fmt.Sprintf("spec.installModes: %s is listed twice: remove one", mode.Type)}
		}
		supported[mode.Type] = mode.Supported
	}
	if len(modes) == 0 {
		return phase.Problem{Reason: phase.ReasonInvalidInstallModes, Message: "spec.installModes: there are no install modes: list those that the operator supports"}
	}
	for _, mode := range needed(in) {
		if !supported[mode] {
			return phase.Problem{Reason: phase.ReasonUnsupportedGroup, Message: fmt.Sprintf(
				"%s InstallModeType not supported, cannot configure to watch %s: change the namespaces of the operatorgroup %s", mode, targetsOf(in, mode), in.Name)}
		}
	}
	return phase.Problem{}
}

// needed returns the install modes that the namespaces of a group need.
func needed(in Group) []v1alpha1.InstallModeType {
	own := slices.Contains(in.Targets, in.Namespace)
	switch {
	case in.All():
		return []v1alpha1.InstallModeType{v1alpha1.AllNamespaces}
	case len(in.Targets) == 1 && own:
		return []v1alpha1.InstallModeType{v1alpha1.OwnNamespace}
	case len(in.Targets) == 1:
		return []v1alpha1.InstallModeType{v1alpha1.SingleNamespace}
	case own:
		return []v1alpha1.InstallModeType{v1alpha1.OwnNamespace, v1alpha1.MultiNamespace}
	}
	return []v1alpha1.InstallModeType{v1alpha1.MultiNamespace}
}

func targetsOf(in Group, mode v1alpha1.InstallModeType) string {
	switch mode {
	case v1alpha1.AllNamespaces:
		return "all namespaces"
	case v1alpha1.OwnNamespace:
		return "own namespace"
	case v1alpha1.SingleNamespace:
		return "one namespace"
	}
	return fmt.Sprintf("%d namespaces", len(in.Targets))
}
