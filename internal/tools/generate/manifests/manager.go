package manifests

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Where projects of kubebuilder and Operator SDK have the Deployment of the operator, and the name of its container.
const (
	managerFolder    = "config/manager"
	managerContainer = "manager"
)

// adopt takes over what the project's own Deployment sets for the operator: environment variables, volumes, and the arguments of operators that are
// not built with Operon. Arguments for addresses are set already and stay.
func (o *Operator) adopt(p *project.Project) error {
	pod, own, err := readManager(p.Dir)
	if err != nil || own == nil {
		return err
	}
	o.Env, o.EnvFrom, o.Mounts = own.Env, own.EnvFrom, own.VolumeMounts
	for _, volume := range pod.Volumes { // without those of its other containers
		if slices.ContainsFunc(own.VolumeMounts, func(one corev1.VolumeMount) bool { return one.Name == volume.Name }) {
			o.Volumes = append(o.Volumes, volume)
		}
	}
	if o.Flags != nil {
		o.Flags = addArguments(o.Flags, own.Args)
	}
	return nil
}

// readManager returns the pod and the container of the operator in the project's own Deployment, or nil.
func readManager(dir string) (*corev1.PodSpec, *corev1.Container, error) {
	objects, err := project.ReadFolder(dir, managerFolder)
	if err != nil {
		return nil, nil, err
	}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		made := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, made); err != nil {
			return nil, nil, fmt.Errorf("%s: Deployment %s: %w", object.Place(), object.GetName(), err)
		}
		pod := &made.Spec.Template.Spec
		if i := slices.IndexFunc(pod.Containers, func(one corev1.Container) bool { return one.Name == managerContainer }); i >= 0 {
			return pod, &pod.Containers[i], nil
		}
		if len(pod.Containers) == 1 {
			return pod, &pod.Containers[0], nil
		}
	}
	return nil, nil, nil
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
