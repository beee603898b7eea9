package bundlerun

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Install modes.
const (
	modeAll    = "AllNamespaces"
	modeOwn    = "OwnNamespace"
	modeSingle = "SingleNamespace"
	modeMulti  = "MultiNamespace"
)

// group returns the OperatorGroup to create, or nil if the namespace has one. Operators of a namespace share it.
func (r *run) group() (*unstructured.Unstructured, error) {
	var others []string
	for i := range r.state.Groups {
		others = append(others, r.state.Groups[i].Name)
	}
	switch {
	case len(others) > 0 && r.Mode != "":
		return nil, fmt.Errorf("the namespace %s has the OperatorGroup %s, which says where its operators work: leave out --install-mode, or use another namespace", r.Namespace, others[0])
	case len(others) > 0:
		return nil, nil
	}
	targets, err := r.targets()
	if err != nil {
		return nil, err
	}
	spec := map[string]any{}
	if len(targets) > 0 {
		spec["targetNamespaces"] = targets
	}
	return r.object("operators.coreos.com/v1", "OperatorGroup", r.made.Package, spec), nil
}

// targets returns the namespaces in which the operator works; none stands for all.
func (r *run) targets() ([]any, error) {
	supported := r.supported()
	mode, value, named := strings.Cut(r.Mode, "=")
	if mode == "" {
		i := slices.IndexFunc([]string{modeAll, modeOwn}, func(one string) bool { return slices.Contains(supported, one) })
		if i < 0 {
			return nil, fmt.Errorf("%s supports %s: choose with --install-mode, such as %s=NAMESPACE", r.made.CSV, strings.Join(supported, " and "), modeSingle)
		}
		mode = []string{modeAll, modeOwn}[i]
	}
	names := strings.FieldsFunc(value, func(c rune) bool { return c == ',' })
	switch {
	case !slices.Contains([]string{modeAll, modeOwn, modeSingle, modeMulti}, mode):
		return nil, fmt.Errorf("--install-mode %s: want %s, %s, %s=NAMESPACE or %s=NAMESPACE,NAMESPACE", r.Mode, modeAll, modeOwn, modeSingle, modeMulti)
	case !slices.Contains(supported, mode):
		return nil, fmt.Errorf("%s does not support the install mode %s, but %s", r.made.CSV, mode, strings.Join(supported, " and "))
	case named && (mode == modeAll || mode == modeOwn):
		return nil, fmt.Errorf("--install-mode %s: %s has no namespaces", r.Mode, mode)
	case mode == modeSingle && len(names) != 1, mode == modeMulti && len(names) == 0:
		return nil, fmt.Errorf("--install-mode %s: want %s=NAMESPACE", r.Mode, mode)
	case mode == modeAll:
		return nil, nil
	case mode == modeOwn:
		return []any{r.Namespace}, nil
	}
	var targets []any
	for _, name := range names {
		targets = append(targets, name)
	}
	return targets, nil
}

// supported returns the install modes of the bundle.
func (r *run) supported() []string {
	var all []string
	for _, one := range r.Bundle.CSV.Spec.InstallModes {
		if one.Supported {
			all = append(all, string(one.Type))
		}
	}
	return all
}
