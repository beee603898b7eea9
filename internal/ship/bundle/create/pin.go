package create

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/internal/ship/image"
)

// pinner replaces the tags of images by digests. It asks a registry once for each image.
type pinner struct {
	digests map[string]string
}

// pin replaces the tags of all images in the bundle: those of pods, of environment variables that name images, and in the project's
// ClusterServiceVersion.
func (m *maker) pin(ctx context.Context, deployments []*appsv1.Deployment) error {
	p := pinner{digests: map[string]string{}}
	if err := p.replace(ctx, &m.options.Image); err != nil {
		return err
	}
	for _, one := range deployments {
		pod := &one.Spec.Template.Spec
		for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range containers {
				if err := p.container(ctx, &containers[i]); err != nil {
					return err
				}
			}
		}
	}
	spec, _ := m.base.Object["spec"].(map[string]any)
	known, _ := spec["relatedImages"].([]any)
	for _, one := range known {
		fields, _ := one.(map[string]any)
		if text, ok := fields["image"].(string); ok {
			if err := p.replace(ctx, &text); err != nil {
				return fmt.Errorf("the ClusterServiceVersion in %s: spec.relatedImages: %w", baseFolder, err)
			}
			fields["image"] = text
		}
	}
	return nil
}

func (p *pinner) container(ctx context.Context, of *corev1.Container) error {
	if err := p.replace(ctx, &of.Image); err != nil {
		return fmt.Errorf("the container %s: %w", of.Name, err)
	}
	for i := range of.Env {
		one := &of.Env[i]
		if !strings.HasPrefix(one.Name, relatedImagePrefix) || one.Value == "" {
			continue
		}
		if err := p.replace(ctx, &one.Value); err != nil {
			return fmt.Errorf("the environment variable %s: %w", one.Name, err)
		}
	}
	return nil
}

func (p *pinner) replace(ctx context.Context, reference *string) error {
	if *reference == "" {
		return nil
	}
	pinned, known := p.digests[*reference]
	if !known {
		var err error
		if pinned, err = image.Pin(ctx, *reference); err != nil {
			return err
		}
		p.digests[*reference] = pinned
	}
	*reference = pinned
	return nil
}
