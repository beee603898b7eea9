package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// modes are all install modes.
var modes = []v1alpha1.InstallModeType{v1alpha1.OwnNamespace, v1alpha1.SingleNamespace, v1alpha1.MultiNamespace, v1alpha1.AllNamespaces}

// home is the namespace that operators are rendered for.
const home = "operators"

// targets are the namespaces of a group that needs an install mode.
func targets(mode v1alpha1.InstallModeType) []string {
	switch mode {
	case v1alpha1.OwnNamespace:
		return []string{home}
	case v1alpha1.SingleNamespace:
		return []string{"one"}
	case v1alpha1.MultiNamespace:
		return []string{"one", "two"}
	}
	return []string{metav1.NamespaceAll}
}

// checkRendering renders a CSV for each install mode, and compares the objects with what the CSV asks for.
func checkRendering(b *bundle.Bundle, all *findings) {
	readable := !slices.ContainsFunc(b.Problems, func(p bundle.Problem) bool { return p.At.File == b.Object.File })
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(b.Object.DeepCopy().Object, csv); err != nil {
		if readable { // otherwise the lint has a finding
			all.add(csvFields, rule.At(*b.Object, "spec"), "%v", err)
		}
		return
	}
	for i, one := range csv.Spec.Install.Spec.Deployments {
		if raw := string(one.Spec.Raw); raw == "" || raw == "null" {
			path := fmt.Sprintf("spec.install.spec.deployments[%d]", i)
			all.add(csvFields, rule.At(*b.Object, path), "%s: spec is missing", path)
			return
		}
	}
	csv.Namespace = home
	checkPlan(b, csv, all)
	sound := !slices.ContainsFunc(*all, func(f rule.Finding) bool { return f.Rule == "csv-install-modes" && f.Severity == rule.Error })
	told := false
	for _, mode := range modes {
		r := &rendered{bundle: b, csv: csv, group: render.Group{Name: "group", Namespace: home, Targets: targets(mode)}}
		problem := render.Supports(csv.Spec.InstallModes, r.group)
		if sound && readable {
			r.checkMode(mode, problem)
		}
		if err := r.render(!all.has("csv-deployments", "generated-names", "csv-owned")); err != nil && readable && !told {
			all.addRefusal(b, err) // it is the same for each mode
			told = true
		}
		if !readable { // it is rendered nevertheless, because that must not crash
			continue
		}
		for _, one := range r.problems {
			all.add(rendering, rule.At(*b.Object, one.field), "%s: %s", mode, one.message)
		}
	}
}

// rendered is what was made of a CSV for a group.
type rendered struct {
	bundle   *bundle.Bundle
	csv      *v1alpha1.ClusterServiceVersion
	group    render.Group
	problems []mismatch
}

// mismatch is a difference from what a CSV asks for.
type mismatch struct{ field, message string }

func (r *rendered) problem(field, format string, values ...any) {
	r.problems = append(r.problems, mismatch{field, fmt.Sprintf(format, values...)})
}

// checkMode compares the decision about a group with the install modes in the CSV.
func (r *rendered) checkMode(mode v1alpha1.InstallModeType, problem phase.Problem) {
	want := phase.ReasonUnsupportedGroup
	if r.bundle.CSV.Spec.Supports(bundle.InstallMode(mode)) {
		want = ""
	}
	if problem.Reason != want {
		r.problem("spec.installModes", "the reason is %q, want %q: %s", problem.Reason, want, problem.Message)
	}
}

// render renders all objects and compares them with the CSV. It returns why the lifecycle manager refuses the CSV. names are right if no two
// objects have the same one.
func (r *rendered) render(names bool) error {
	p := &granted{rendered: r}
	p.check(append(render.Permissions(r.csv, r.group), render.Condition(r.csv)...))
	children, err := render.Children(r.csv, r.group, r.certificates())
	if isRefusal(err) {
		return err
	}
	if err != nil {
		r.problem("spec.install.spec.deployments", "%v", err)
		return nil
	}
	r.checkDeployments(children)
	if s := (&served{rendered: r}); names {
		s.check(children)
		r.checkAPIRoles()
	}
	return nil
}

func (r *rendered) checkDeployments(children []render.Child) {
	var deployments []*appsv1.Deployment
	for _, one := range children {
		if deployment, is := one.Object.(*appsv1.Deployment); is {
			deployments = append(deployments, deployment)
		}
	}
	described := r.bundle.CSV.Spec.Install.Spec.Deployments
	if len(deployments) != len(described) {
		r.problem("spec.install.spec.deployments", "%d Deployments, want %d", len(deployments), len(described))
		return
	}
	for i, one := range deployments {
		r.checkDeployment(fmt.Sprintf("spec.install.spec.deployments[%d]", i), one, &described[i])
	}
}

// checkDeployment checks the annotations, variables and certificates of the pods, and that everything else is as in the CSV.
func (r *rendered) checkDeployment(path string, made *appsv1.Deployment, want *bundle.Deployment) {
	if made.Name != want.Name || made.Namespace != home {
		r.problem(path, "the Deployment is %s/%s, want %s/%s", made.Namespace, made.Name, home, want.Name)
	}
	r.checkAnnotations(path, made.Name, made.Spec.Template.Annotations, want.Spec.Template.Annotations)
	spec, original := made.Spec.DeepCopy(), want.Spec.DeepCopy()
	for i := range spec.Template.Spec.Containers {
		r.checkContainer(path, spec, original, i)
	}
	// These differ on purpose.
	spec.Template.Annotations, original.Template.Annotations = nil, nil
	spec.RevisionHistoryLimit, original.RevisionHistoryLimit = nil, nil
	original.Template.CreationTimestamp = metav1.Time{}
	if r.serves(made.Name) {
		r.checkCertificates(path, made)
		for _, one := range []*appsv1.DeploymentSpec{spec, original} {
			withoutCertificates(one)
		}
	}
	if !equality.Semantic.DeepEqual(spec, original) {
		r.problem(path+".spec", "the Deployment has other changes than the annotations and variables of the lifecycle manager")
	}
}

// checkAnnotations checks the annotations of pods: those of the manager, those of the CSV, and the others of the Deployment in the CSV.
func (r *rendered) checkAnnotations(path, deployment string, has, original map[string]string) {
	want := maps.Clone(original)
	if want == nil {
		want = map[string]string{}
	}
	for key, value := range r.bundle.CSV.Annotations {
		if !render.ForTools(key) {
			want[key] = value
		}
	}
	want[render.AnnotationTargets] = strings.Join(r.group.Targets, ",")
	want[render.AnnotationNamespace], want[render.AnnotationGroup] = home, r.group.Name
	if r.serves(deployment) {
		want[render.AnnotationCAHash] = fakeHash
	}
	for key, value := range want {
		if got, set := has[key]; !set || got != value {
			r.problem(path, "the annotation %s of pods is %q, want %q", key, got, value)
		}
	}
	for key := range has {
		if _, wanted := want[key]; !wanted {
			r.problem(path, "pods have the annotation %s, which is not in the CSV", key)
		}
	}
}

// checkContainer checks the variable that the lifecycle manager sets, and removes it from both.
func (r *rendered) checkContainer(path string, spec, original *appsv1.DeploymentSpec, i int) {
	container := &spec.Template.Spec.Containers[i]
	var values []string
	for _, one := range container.Env {
		if one.Name == render.EnvCondition {
			values = append(values, one.Value)
		}
	}
	if !slices.Equal(values, []string{r.csv.Name}) {
		r.problem(path, "container %s has the variable %s with the values %q, want %s", container.Name, render.EnvCondition, values, r.csv.Name)
	}
	for _, one := range []*appsv1.DeploymentSpec{spec, original} {
		if i >= len(one.Template.Spec.Containers) {
			continue
		}
		env := one.Template.Spec.Containers[i].Env[:0]
		for _, variable := range one.Template.Spec.Containers[i].Env {
			if variable.Name != render.EnvCondition {
				env = append(env, variable)
			}
		}
		one.Template.Spec.Containers[i].Env = env
	}
}
