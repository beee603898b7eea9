package create

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Where projects of kubebuilder and Operator SDK have the Deployment of the operator, and the name of its container.
const (
	managerFolder    = "config/manager"
	managerContainer = "manager"
)

// readManager returns the container of the operator in the project's own Deployment, or nil.
func readManager(dir string) (*corev1.Container, error) {
	objects, err := project.ReadFolder(dir, managerFolder)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		made := &appsv1.Deployment{}
		if err := typed(object.Unstructured, made); err != nil {
			return nil, fmt.Errorf("%s: %w", object.Place(), err)
		}
		all := made.Spec.Template.Spec.Containers
		if i := slices.IndexFunc(all, func(one corev1.Container) bool { return one.Name == managerContainer }); i >= 0 {
			return &all[i], nil
		}
		if len(all) == 1 {
			return &all[0], nil
		}
	}
	return nil, nil
}

// adopt adds to the operator's container what the project's own Deployment sets: environment variables, such as images that the operator
// uses, and the arguments of operators that are not built with Operon. The project's variables win, and arguments for addresses do not.
func (s *sorter) adopt() error {
	own, err := readManager(s.project.Dir)
	if err != nil || own == nil || len(s.deployments) == 0 {
		return err
	}
	container := &s.deployments[0].Spec.Template.Spec.Containers[0]
	for _, variable := range own.Env {
		if i := slices.IndexFunc(container.Env, func(o corev1.EnvVar) bool { return o.Name == variable.Name }); i >= 0 {
			container.Env[i] = variable
			continue
		}
		container.Env = append(container.Env, variable)
	}
	container.EnvFrom = append(container.EnvFrom, own.EnvFrom...)
	if !s.followsGroups() {
		container.Args = addArguments(container.Args, own.Args)
	}
	return nil
}

// addArguments adds the arguments whose flags are not set yet. The value of a flag can be an argument of its own.
func addArguments(all, more []string) []string {
	set := map[string]bool{}
	for _, one := range all {
		set[flagOf(one)] = true
	}
	skipping := false
	for _, one := range more {
		if strings.HasPrefix(one, "-") {
			skipping = set[flagOf(one)]
		}
		if !skipping {
			all = append(all, one)
		}
	}
	return all
}

// flagOf returns the name of a flag: "a" for "--a=b".
func flagOf(argument string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(argument, "-"), "=")
	return name
}
