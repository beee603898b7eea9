package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// configure changes a Deployment as the Subscription of a group says. Existing annotations are not replaced.
func configure(deployment *appsv1.Deployment, group Group) error {
	config := group.Config
	if config == nil {
		return nil
	}
	var raw struct {
		Volumes      []corev1.Volume      `json:"volumes"`
		VolumeMounts []corev1.VolumeMount `json:"volumeMounts"`
		Affinity     *corev1.Affinity     `json:"affinity"`
	}
	for field, one := range map[string]struct {
		content []byte
		into    any
	}{
		"volumes": {config.Volumes.Raw, &raw.Volumes}, "volumeMounts": {config.VolumeMounts.Raw, &raw.VolumeMounts}, "affinity": {config.Affinity.Raw, &raw.Affinity},
	} {
		if len(one.content) == 0 {
			continue
		}
		if err := json.Unmarshal(one.content, one.into); err != nil {
			return fmt.Errorf("spec.config.%s of the Subscription: %w", field, err)
		}
	}
	if !group.AnyVolumes {
		if err := checkVolumes(raw.Volumes); err != nil {
			return err
		}
	}
	pod := &deployment.Spec.Template.Spec
	for i := range pod.Containers {
		container := &pod.Containers[i]
		for _, one := range config.Env {
			container.Env = setEnv(container.Env, one)
		}
		container.EnvFrom = append(container.EnvFrom, config.EnvFrom...)
		container.VolumeMounts = setNamed(container.VolumeMounts, raw.VolumeMounts, func(m corev1.VolumeMount) string { return m.Name })
		if config.Resources != nil {
			container.Resources = *config.Resources.DeepCopy()
		}
	}
	pod.Volumes = setNamed(pod.Volumes, raw.Volumes, func(v corev1.Volume) string { return v.Name })
	for _, one := range config.Tolerations {
		if !slices.ContainsFunc(pod.Tolerations, func(has corev1.Toleration) bool { return equality.Semantic.DeepEqual(has, one) }) {
			pod.Tolerations = append(pod.Tolerations, one)
		}
	}
	if config.NodeSelector != nil {
		pod.NodeSelector = maps.Clone(config.NodeSelector)
	}
	setAffinity(pod, raw.Affinity)
	deployment.Annotations = withDefaults(deployment.Annotations, config.Annotations)
	deployment.Spec.Template.Annotations = withDefaults(deployment.Spec.Template.Annotations, config.Annotations)
	return nil
}

// checkVolumes refuses volumes that give an operator more than its own pod has: what belongs to others in the namespace, and the node. Whoever
// may create pods can use those, but a person who may only change Subscriptions cannot.
func checkVolumes(volumes []corev1.Volume) error {
	for i, one := range volumes {
		if !harmless(one.VolumeSource) {
			return fmt.Errorf("spec.config.volumes[%d] (%s) of the Subscription: only volumes of the types configMap, downwardAPI, emptyDir, and projected from these, "+
				"are allowed, unless the OperatorGroup has the annotation %s: %s", i, one.Name, AnnotationVolumes, VolumesAny)
		}
	}
	return nil
}

func harmless(source corev1.VolumeSource) bool {
	if projected := source.Projected; projected != nil {
		for _, one := range projected.Sources {
			one.ConfigMap, one.DownwardAPI = nil, nil
			if one != (corev1.VolumeProjection{}) {
				return false
			}
		}
	}
	source.ConfigMap, source.DownwardAPI, source.EmptyDir, source.Projected = nil, nil, nil, nil
	return source == (corev1.VolumeSource{})
}

// setNamed adds entries to a list, in the place of those with the same names.
func setNamed[T any](all, more []T, name func(T) string) []T {
	for _, one := range more {
		if i := slices.IndexFunc(all, func(has T) bool { return name(has) == name(one) }); i >= 0 {
			all[i] = one
			continue
		}
		all = append(all, one)
	}
	return all
}

// setAffinity replaces the parts of the affinity of pods that are set. An empty part removes it.
func setAffinity(pod *corev1.PodSpec, wanted *corev1.Affinity) {
	if wanted == nil {
		return
	}
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{}
	}
	if part := wanted.NodeAffinity; part != nil {
		pod.Affinity.NodeAffinity = unlessEmpty(part)
	}
	if part := wanted.PodAffinity; part != nil {
		pod.Affinity.PodAffinity = unlessEmpty(part)
	}
	if part := wanted.PodAntiAffinity; part != nil {
		pod.Affinity.PodAntiAffinity = unlessEmpty(part)
	}
	if equality.Semantic.DeepEqual(pod.Affinity, &corev1.Affinity{}) {
		pod.Affinity = nil
	}
}

func unlessEmpty[T any](part *T) *T {
	if equality.Semantic.DeepEqual(part, new(T)) {
		return nil
	}
	return part
}

func withDefaults(has, more map[string]string) map[string]string {
	if len(more) == 0 {
		return has
	}
	merged := maps.Clone(more)
	maps.Copy(merged, has)
	return merged
}
