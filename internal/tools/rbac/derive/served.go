package derive

import (
	"cmp"
	"go/types"
	"slices"

	"sigs.k8s.io/controller-tools/pkg/markers"
)

// aggregatedPath is the package with which an operator is itself an API server.
const aggregatedPath = operonPath + "/aggregated"

// Kinds that an API server uses, besides its own.
var (
	apiServices = kind{Group: "apiregistration.k8s.io", Resource: "apiservices"}
	reviews     = kind{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}
	configMaps  = kind{Resource: "configmaps"}
)

// trust is the ConfigMap with which the cluster's front proxy is authenticated. Only the front proxy reports the identity of
// clients.
const trust, trustNamespace = "extension-apiserver-authentication", "kube-system"

// serves finds the versions that the operator serves itself, VERSION.GROUP, and adds the permissions for them.
func (d *deriving) serves(operator string) bool {
	var versions []string
	found := false
	for _, c := range d.calls {
		if !isOf(c.callee, aggregatedPath, "Kind", "Review") {
			continue
		}
		found = true
		version, ok := d.servedBy(c)
		if !ok {
			d.note(c.Pos(), "aggregated.%s: the served API group is unknown: add markers for the APIService, as docs/runtime/apiserver.md lists them", c.callee.Name())
			continue
		}
		versions = append(versions, version)
	}
	if !found {
		return false
	}
	const why = "it is an API server"
	slices.Sort(versions)
	for _, version := range slices.Compact(versions) {
		d.mayNamed(keep, apiServices, version, "", why)
	}
	d.may([]string{"create"}, reviews, why)
	d.mayNamed(read, configMaps, trust, trustNamespace, why)
	if operator == "" {
		d.note(d.calls[0].Pos(), "aggregated.Serve: the operator's name is not a constant: write markers for its Secret, as docs/runtime/apiserver.md lists them")
		return true
	}
	for _, service := range []string{operator, operator + "-webhook"} { // the names that `operon up` and the manifests use
		d.mayNamed(keep, secrets, service+"-certificates", Own, why)
	}
	return true
}

// servedBy returns the version of the kind that a call of aggregated.Kind or Review serves: the kind that the reader's
// methods return. The type argument cannot be used, because it does not fit its constraint without its generated methods.
func (d *deriving) servedBy(c call) (string, bool) {
	reader := c.info.TypeOf(argument(c, 0))
	if reader == nil {
		return "", false
	}
	for _, name := range []string{"Get", "Create"} {
		found, _, _ := types.LookupFieldOrMethod(reader, true, c.types, name)
		method, ok := found.(*types.Func)
		if !ok || method.Type().(*types.Signature).Results().Len() == 0 {
			continue
		}
		of := objectOf(method.Type().(*types.Signature).Results().At(0).Type())
		if of == nil {
			return "", false
		}
		is, ok := d.kindOf(of)
		return d.versionOf(of) + "." + is.Group, ok
	}
	return "", false
}

// versionOf returns the version of a type: from its package's marker, or the package's name.
func (p *program) versionOf(of *types.Named) string {
	within := p.byPath[of.Obj().Pkg().Path()]
	if within == nil {
		return of.Obj().Pkg().Name()
	}
	said, err := markers.PackageMarkers(p.Collector, within)
	if err != nil {
		return within.Name
	}
	version, _ := said.Get("versionName").(string)
	return cmp.Or(version, within.Name)
}
