package create

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Where kubebuilder projects have their webhooks.
const (
	webhookFolder  = "config/webhook"
	crdFolder      = "config/crd"
	servicePort    = 443
	webhookPort    = 9443
	conversionPath = "/convert"
)

// readWebhooks reads the webhooks of a kubebuilder project. Operators that are written with Operon register theirs themselves.
func (m *maker) readWebhooks() error {
	objects, err := project.ReadFolder(m.project.Dir, webhookFolder)
	if err != nil {
		return err
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "ValidatingWebhookConfiguration":
			made := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			if err := typed(object.Unstructured, made); err != nil {
				return fmt.Errorf("%s: %w", object.Place(), err)
			}
			for _, hook := range made.Webhooks {
				if err := m.addWebhook(bundle.Validating, hook.Name, hook.ClientConfig, hook); err != nil {
					return fmt.Errorf("%s: %w", object.Place(), err)
				}
			}
		case "MutatingWebhookConfiguration":
			made := &admissionregistrationv1.MutatingWebhookConfiguration{}
			if err := typed(object.Unstructured, made); err != nil {
				return fmt.Errorf("%s: %w", object.Place(), err)
			}
			for _, hook := range made.Webhooks {
				if err := m.addWebhook(bundle.Mutating, hook.Name, hook.ClientConfig, hook); err != nil {
					return fmt.Errorf("%s: %w", object.Place(), err)
				}
			}
		}
	}
	if err := m.readConversions(); err != nil {
		return err
	}
	if l := m.project.Layout; l != nil && len(m.hooks) == 0 {
		for _, kind := range l.Resources {
			if kind.Webhooks {
				return fmt.Errorf("%s:%d: %s has webhooks, and %s has no configuration of webhooks: run make manifests first", project.ProjectFile, kind.Line, kind.Kind, webhookFolder)
			}
		}
	}
	return nil
}

// addWebhook adds the definition of a webhook: its fields, without the Service, which the Operator Lifecycle Manager makes.
func (m *maker) addWebhook(kind bundle.WebhookType, name string, client admissionregistrationv1.WebhookClientConfig, hook any) error {
	fields := map[string]any{}
	if err := plainField(fields, "hook", hook); err != nil {
		return err
	}
	definition, _ := fields["hook"].(map[string]any)
	selector, _ := definition["namespaceSelector"].(map[string]any)
	unknown := map[string]bool{"namespaceSelector": len(selector) > 0, "matchConditions": definition["matchConditions"] != nil, "clientConfig.url": client.URL != nil}
	for _, field := range slices.Sorted(maps.Keys(unknown)) {
		if unknown[field] {
			return fmt.Errorf("the webhook %s has %s, which a ClusterServiceVersion cannot express: remove the field, and check the condition in the webhook itself", name, field)
		}
	}
	for _, field := range []string{"name", "clientConfig", "namespaceSelector"} {
		delete(definition, field)
	}
	definition["type"], definition["generateName"], definition["deploymentName"] = string(kind), name, m.operator.Name
	definition["containerPort"], definition["targetPort"] = int64(servicePort), int64(webhookPort)
	if client.Service != nil && client.Service.Path != nil {
		definition["webhookPath"] = *client.Service.Path
	}
	m.hooks = append(m.hooks, definition)
	return nil
}

// readConversions adds a webhook for the CRDs with several versions that have one, themselves or by a patch of kustomize.
func (m *maker) readConversions() error {
	patches, err := readPatches(m.project.Dir)
	if err != nil {
		return err
	}
	converted := map[string]bool{}
	for _, object := range slices.Concat(m.project.CRDs, patches) {
		strategy, _, _ := unstructured.NestedString(object.Object, "spec", "conversion", "strategy")
		if kube.IsCRD(object.Unstructured) && strategy == "Webhook" {
			converted[object.GetName()] = true
		}
	}
	var names []any
	for _, crd := range m.project.CRDs {
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if converted[crd.GetName()] && len(versions) > 1 {
			names = append(names, crd.GetName())
		}
	}
	if len(names) == 0 {
		return nil
	}
	m.hooks = append(m.hooks, map[string]any{
		"type": string(bundle.Converting), "generateName": "conversion." + m.operator.Name, "deploymentName": m.operator.Name,
		"containerPort": int64(servicePort), "targetPort": int64(webhookPort), "webhookPath": conversionPath, "sideEffects": "None",
		"admissionReviewVersions": []any{"v1"}, "conversionCRDs": names,
	})
	return nil
}

// readPatches returns the patches that the kustomization of the CRDs lists. Others are not applied, such as those that kubebuilder leaves
// in comments.
func readPatches(dir string) ([]project.Object, error) {
	file := path.Join(crdFolder, "kustomization.yaml")
	content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var listed struct {
		Patches               []struct{ Path, Patch string }
		PatchesStrategicMerge []string
	}
	if err := yaml.Unmarshal(content, &listed); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []project.Object
	files := listed.PatchesStrategicMerge
	for _, one := range listed.Patches {
		if one.Path != "" {
			files = append(files, one.Path)
			continue
		}
		patches, err := project.Parse(file, []byte(one.Patch))
		if err != nil {
			return nil, err
		}
		all = append(all, patches...)
	}
	for _, one := range files {
		if !filepath.IsLocal(filepath.FromSlash(path.Join(crdFolder, one))) {
			return nil, fmt.Errorf("%s: the patch %s is not in the project", file, one)
		}
		patches, err := project.ReadFile(dir, path.Join(crdFolder, one))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, patches...)
	}
	return all, nil
}
